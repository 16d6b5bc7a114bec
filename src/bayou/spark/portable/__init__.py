# SPDX-License-Identifier: Apache-2.0
"""Work on a session without its JVM: by the documented DataFrame API and the messages of a Spark Connect client."""
