# SPDX-License-Identifier: Apache-2.0
"""Prints the folder with the JARs that Spark reads S3 with, in the version of PySpark's Hadoop; fetched once through Maven.

hadoop-aws asks for a bundle of 600 MB; the parts of the AWS SDK that it uses are 20 MB. Where they cannot be fetched, it says so on
stderr and prints nothing: the tests that need them are skipped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import oracle_jars
from cache_folder import cache
from minicluster_jar import hadoop_version

# The version of the SDK that each Hadoop was built with, or a later one that its parts are on Maven Central of.
SDKS = {"3.3.4": "1.12.262", "3.4.1": "2.29.52", "3.4.2": "2.29.52", "3.5.0": "2.35.4"}
PARTS = {
    "1": ("com.amazonaws", "aws-java-sdk-bom", ("aws-java-sdk-s3", "aws-java-sdk-sts", "aws-java-sdk-dynamodb")),
    "2": ("software.amazon.awssdk", "bom", ("s3", "sts", "s3-transfer-manager", "apache-client", "netty-nio-client")),
}
POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>bayou</groupId><artifactId>s3</artifactId><version>1</version>
  <dependencyManagement><dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{bom}</artifactId><version>{sdk}</version><type>pom</type><scope>import</scope>
  </dependency></dependencies></dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>{hadoop}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    {parts}
    <dependency><groupId>org.wildfly.openssl</groupId><artifactId>wildfly-openssl</artifactId><version>2.1.4.Final</version></dependency>
  </dependencies>
</project>
"""
PART = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId></dependency>"
TIMEOUT = 300


def main() -> None:
    try:
        print(provide(cache()))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"the tests of Spark on S3 are skipped: hadoop-aws cannot be fetched ({error})", file=sys.stderr)


def provide(folder: Path, hadoop: str | None = None) -> Path:
    """The folder with the JARs, filled when it is not there yet.

    Args:
        folder: where fetched things are kept.
        hadoop: the version of Hadoop; that of this environment's PySpark where None.

    Raises:
        OSError: the JARs of this Hadoop are not known, or there is no Maven.
    """
    hadoop = hadoop or hadoop_version()
    sdk = SDKS.get(hadoop)
    if sdk is None:
        message = f"the JARs are known for Hadoop {', '.join(SDKS)}, and PySpark brings {hadoop}"
        raise OSError(message)
    group, bom, parts = PARTS[sdk[0]]
    found = folder / "jars" / f"hadoop-aws-{hadoop}"
    if not found.exists():
        print(f"\n== fetching {found.name} with Maven", file=sys.stderr, flush=True)
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=found.parent) as work:
            asked = "".join(PART.format(group, part) for part in parts)
            text = POM.format(sdk=sdk, hadoop=hadoop, group=group, bom=bom, parts=asked)
            Path(work, "pom.xml").write_text(text, encoding="utf-8")
            command = [oracle_jars.maven(), "-B", "-q", oracle_jars.COPY, "-DoutputDirectory=jars", "-DincludeScope=runtime"]
            subprocess.run(command, cwd=work, check=True, stdout=sys.stderr, timeout=TIMEOUT)
            (Path(work) / "jars").rename(found)
    return found


def provide_for(python: Path) -> str:
    """The folder with the JARs for the PySpark of an environment; empty where they cannot be fetched.

    Args:
        python: the environment's Python.
    """
    client = next(python.parent.parent.glob("lib/python*/site-packages/pyspark/jars/hadoop-client-api-*.jar"), Path("none"))
    try:
        return str(provide(cache(), client.stem.removeprefix("hadoop-client-api-")))
    except (OSError, SystemExit, subprocess.SubprocessError) as error:
        print(f"nothing runs on S3 there: {error}", flush=True)
        return ""


if __name__ == "__main__":
    main()
