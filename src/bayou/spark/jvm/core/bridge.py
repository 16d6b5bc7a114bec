# SPDX-License-Identifier: Apache-2.0
"""Reach the JVM of one Spark application through py4j: classes, Scala objects, arrays and method handles.

Spark releases move packages and append parameters. This module tries names, reads the parameters that a method has
(`signatures`), and asks Scala for the defaults of appended ones. bayou never looks at Spark's version to call it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bayou.errors import DeltaError, failed
from bayou.spark.jvm.core.signatures import by_name, fitting, parse_members, unknown_signature
from bayou.spark.jvm.gateway import JavaClass
from bayou.spark.session.running_context import running_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.signatures import Parameters

JavaObject = Any
"""An object in the JVM, which has no static type. Only `spark.jvm` calls its methods; to other code it is a value to pass on."""


class Jvm:
    """The calls that bayou makes in one JVM. There is one instance per py4j gateway; class handles are looked up once."""

    _instances: WeakKeyDictionary[Any, Jvm] = WeakKeyDictionary()

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self._modules: dict[tuple[str, ...], JavaObject] = {}
        self._classes: dict[tuple[str, ...], JavaObject] = {}
        self._statics: dict[str, JavaObject] = {}
        self._methods: dict[str, Mapping[str, list[Parameters]]] = {}
        self._module_names: dict[str, str] = {}
        self._constructors: dict[str, list[tuple[Parameters, JavaObject]]] = {}

    @classmethod
    def of(cls, spark: SparkSession) -> Jvm:
        """Return the bridge into the JVM of a classic session.

        Raises:
            SessionError: it is a Spark Connect session, which has no JVM in this process, or it was stopped.
        """
        if not hasattr(spark, "_jsparkSession"):
            raise failed("connect-session")
        if spark.sparkContext._jsc is None:  # noqa: SLF001  (what `stop` leaves)
            raise failed("stopped-session")
        return cls._of_context(spark.sparkContext)

    @classmethod
    def running(cls) -> Jvm | None:
        """Return the bridge into the JVM of this process's application, or None if no application runs."""
        context = running_context()
        return None if context is None else cls._of_context(context)

    @classmethod
    def _of_context(cls, context: SparkContext) -> Jvm:
        gateway = context._gateway  # noqa: SLF001  (the gateway has no public name)
        if gateway not in cls._instances:
            cls._instances[gateway] = cls(gateway)
        return cls._instances[gateway]

    @property
    def context(self) -> JavaObject | None:
        """The running `SparkContext` of this JVM, or None."""
        running = running_context()
        if running is None or running._gateway is not self.gateway:  # noqa: SLF001
            return None
        return running._jsc.sc()  # noqa: SLF001

    def thread_id(self) -> int:
        """Return the id of the JVM thread that runs the calls of this Python thread."""
        return int(self.static("java.lang.Thread").currentThread().getId())

    @cached_property
    def loader(self) -> JavaObject:
        """The class loader that sees Spark and everything that joined the application."""
        return self.static("java.lang.Thread").currentThread().getContextClassLoader()

    def static(self, name: str) -> JavaObject:
        """Return a class by its full name, to call its static methods and constructor, without a call."""
        if name not in self._statics:
            self._statics[name] = JavaClass(name, self.gateway._gateway_client)  # noqa: SLF001  (the view asks for each part)
        return self._statics[name]

    def java_class(self, *names: str) -> JavaObject:
        """Return the `java.lang.Class` of the first of these names that this Spark has, or raise SessionError."""
        if names not in self._classes:
            self._classes[names] = self.loader.loadClass(self._first(names))
        return self._classes[names]

    def has_class(self, name: str) -> bool:
        """Whether the class loader finds a class of that name.

        Ask for the resource, because a failed load is slow: PySpark asks the JVM some eighty questions about each exception.
        """
        return self.loader.getResource(f"{name.replace('.', '/')}.class") is not None

    def module(self, *names: str) -> JavaObject:
        """Return the singleton of the first of these Scala `object`s that this Spark has, or raise SessionError."""
        if names not in self._modules:
            name = self._first(tuple(f"{name}$" for name in names))
            instance = self.loader.loadClass(name).getField("MODULE$").get(None)
            self._module_names[instance._target_id] = names[0]  # noqa: SLF001  (py4j never uses one again)
            self._modules[names] = instance
        return self._modules[names]

    def _first(self, names: tuple[str, ...]) -> str:
        first = next(filter(self.has_class, names), None)
        if first is None:
            raise failed("unknown-class", spark_version=self.spark_version_text, names=" or ".join(names))
        return first

    def construct(self, java_class: JavaObject, *arguments: Any) -> JavaObject:
        """Create an object with the constructor that takes these arguments, also of classes that the JVM view cannot name.

        Additional parameters get the defaults that Scala declares for them.

        Raises:
            SessionError: no constructor takes so many arguments.
        """
        constructors = self._constructors_of(java_class)
        offered = self.constructors(java_class)
        parameters = fitting(offered, len(arguments))
        if parameters is None:
            raise self._unknown(java_class.getName(), "<init>", offered, len(arguments))
        if sum(len(signature) == len(parameters) for signature in offered) > 1:
            return self.static(java_class.getName())(*arguments)  # py4j selects one by the types of the arguments
        make = next(constructor for signature, constructor in constructors if signature is parameters)
        all_arguments = [*arguments]
        if len(parameters) > len(all_arguments):
            companion = self.module(java_class.getName())
            all_arguments += [
                getattr(companion, f"$lessinit$greater$default${n}")() for n in range(len(all_arguments) + 1, len(parameters) + 1)
            ]
        return make.newInstance(self.objects(all_arguments))

    def constructors(self, java_class: JavaObject) -> list[Parameters]:
        """Return the parameters of each public constructor of a class."""
        return [parameters for parameters, _ in self._constructors_of(java_class)]

    def _constructors_of(self, java_class: JavaObject) -> list[tuple[Parameters, JavaObject]]:
        handle = java_class._target_id  # noqa: SLF001  (py4j never uses one again)
        if handle not in self._constructors:
            constructors = java_class.getConstructors()
            members = parse_members(self._text_of(constructors))
            self._constructors[handle] = [(parameters, constructors[n]) for n, (_, parameters) in enumerate(members)]
        return self._constructors[handle]

    def call(self, target: JavaObject, method: str, *arguments: Any) -> JavaObject:
        """Call a Scala method with the defaults of the parameters that newer Spark releases appended.

        Scala stores the default of parameter N of a method `write` as a method `write$default$N`.

        Raises:
            SessionError: this Spark's method takes fewer parameters, or does not exist.
        """
        overloads = self.overloads(target, method)
        parameters = fitting(overloads, len(arguments))
        if parameters is None:
            raise self._unknown(self._class_name(target), method, overloads, len(arguments))
        appended = range(len(arguments) + 1, len(parameters) + 1)
        return getattr(target, method)(*arguments, *(getattr(target, f"{method}$default${n}")() for n in appended))

    def overloads(self, target: JavaObject, method: str) -> list[Parameters]:
        """Return the parameters of each public overload of an object's method."""
        owner = self._class_name(target)
        if owner not in self._methods:
            self._methods[owner] = self._methods_of(target.getClass())
        return self._methods[owner].get(method, [])

    def has_method(self, class_name: str, method: str) -> bool:
        """Whether a class, by its full name, has a public method of that name. Asks the JVM once per class."""
        if class_name not in self._methods:
            self._methods[class_name] = self._methods_of(self.java_class(class_name))
        return method in self._methods[class_name]

    def _methods_of(self, java_class: JavaObject) -> Mapping[str, list[Parameters]]:
        return by_name(parse_members(self._text_of(java_class.getMethods())))

    def _text_of(self, array: JavaObject) -> str:
        # py4j does not find `Arrays.toString(Object[])` for an array of another type (py4j 0.10.9).
        text: str = self.static("scala.runtime.ScalaRunTime").stringOf(array)
        return text

    def _class_name(self, target: JavaObject) -> str:
        module_name = self._module_names.get(target._target_id)  # noqa: SLF001  (py4j never uses one again)
        name: str = f"{module_name}$" if module_name else target.getClass().getName()
        return name

    def _unknown(self, owner: str, method: str, overloads: Sequence[Parameters], count: int) -> DeltaError:
        return unknown_signature(self.spark_version_text, owner, method, overloads, f"{count} arguments")

    def array(self, java_class: JavaObject, items: Sequence[Any]) -> JavaObject:
        """Return a Java array. It takes one call per item, so use it for short arrays."""
        out = self.gateway.new_array(java_class, len(items))
        for position, item in enumerate(items):
            out[position] = item
        return out

    def objects(self, items: Iterable[Any]) -> JavaObject:
        """Return an `Object[]`. Python proxies cannot be put into an array directly, so a list carries them."""
        return self.java_list(items).toArray()

    def java_list(self, items: Iterable[Any]) -> JavaObject:
        """Return a `java.util.List`. Callbacks return several things in one."""
        boxed = self.static("java.util.ArrayList")()
        for item in items:
            boxed.add(item)
        return boxed

    def seq(self, items: Iterable[Any]) -> JavaObject:
        """Return a Scala `Seq` of the version's own class."""
        return self.static("org.apache.spark.api.python.PythonUtils").toSeq(list(items))

    def some(self, item: Any) -> JavaObject:
        """Return a Scala `Some`."""
        return self.static("scala.Some")(item)

    @cached_property
    def none(self) -> JavaObject:
        """Scala's `None`."""
        return self.static("scala.Option").empty()

    def scala_map(self, items: dict[Any, Any]) -> JavaObject:
        """Return an immutable Scala `Map`."""
        return self.static("org.apache.spark.api.python.PythonUtils").toScalaMap(items)

    def list_of(self, sequence: JavaObject) -> list[JavaObject]:
        """Return the items of a Scala `Seq`. It takes one call per item, so use it for short ones."""
        return [sequence.apply(position) for position in range(sequence.size())]

    @cached_property
    def spark_version_text(self) -> str:
        """Spark's version as Spark writes it."""
        text: str = self.loader.loadClass("org.apache.spark.package$").getField("MODULE$").get(None).SPARK_VERSION()
        return text

    @cached_property
    def spark_version(self) -> tuple[int, int]:
        """Spark's major and minor version, for messages and for limits that depend only on the version."""
        major, minor = self.spark_version_text.split(".")[:2]
        return int(major), int(minor)
