"""The params of generated block calls: literal or by typed templates, always as the block wants them."""

from __future__ import annotations

from collections.abc import Callable

from agreement.blocks import RESULTS
from agreement.expressions import List, Record, Scope, Type
from agreement.generate import Document, Maker


def params_of(maker: Maker, scope: Scope, name: str, when: str | None) -> tuple[Document, Type | None]:
    if name == "set":
        return _set(maker, scope, when)
    if name == "log":
        level: Document = {"level": maker.random.choice(["debug", "warning"])} if maker.chance(0.4) else {}
        return {"message": maker.value(scope, when)[0], **level}, Record({})
    return _PARAMS[name](maker, scope, when), RESULTS[name]


def _set(maker: Maker, scope: Scope, when: str | None) -> tuple[Document, Type]:
    made: Document = {}
    types: dict[str, Type] = {}
    for name in maker.random.sample(["first", "second", "third_one", "fourth"], maker.random.randint(1, 3)):
        if maker.chance(0.15):
            inner, type_ = maker.value(scope, when)
            made[name], types[name] = {"deep": inner}, Record({"deep": type_})
        elif maker.chance(0.08):
            made[name] = [maker.whole(scope, "integer", when), 7]
            types[name] = List("integer")
        else:
            made[name], types[name] = maker.value(scope, when)
    return made, Record(types)


def _find(maker: Maker, scope: Scope, when: str | None) -> Document:
    made: Document = {
        "number": maker.whole(scope, "integer", when) if maker.chance(0.7) else maker.random.randint(1, 9)
    }
    if maker.chance(0.4):
        made["label"] = maker.write.template(scope, when) if maker.chance(0.5) else maker.whole(scope, "string", when)
    if maker.chance(0.3):
        made["deep"] = maker.whole(scope, "boolean", when)
    if maker.chance(0.2):
        made["weight"] = maker.whole(scope, maker.random.choice(["number", "integer"]), when)
    if maker.chance(0.2):
        made["marks"] = maker.whole(scope, List("string"), when)
    return made


def write_params(maker: Maker, scope: Scope, when: str | None) -> Document:
    made: Document = {}
    if maker.chance(0.7):
        made["value"] = maker.value(scope, when)[0]
    if maker.chance(0.4):
        made["number"] = maker.whole(scope, "integer", when)
    return made


def http_params(maker: Maker, scope: Scope, when: str | None) -> Document:
    made: Document = {"url": maker.random.choice(["https://a.example/x", "https://b.example/{run.id}"])}
    if maker.chance(0.3):
        made["url"] = "https://c.example/" + maker.write.template(scope, when, key=True)
    if maker.chance(0.4):
        made["method"] = maker.random.choice(["GET", "POST", "PUT"])
    if made.get("method", "GET") != "GET" and maker.chance(0.6):
        made["json"] = {"sent": maker.value(scope, when)[0]}
    if maker.secrets and maker.chance(0.5):
        made["headers"] = {"authorization": "Bearer {secrets.API_TOKEN}"}
    elif maker.secret_inputs and maker.chance(0.6):
        made["headers"] = {"x-code": "{inputs." + maker.random.choice(maker.secret_inputs) + "}"}
    elif maker.chance(0.2):
        made["query"] = {"q": maker.whole(scope, "string", when), "limit": 5}
    if maker.chance(0.1):
        made["expect"] = [200, 404]
    return made


def _shell(maker: Maker, scope: Scope, when: str | None) -> Document:
    if maker.chance(0.5):
        return {"command": ["echo", maker.whole(scope, "string", when)]}
    return {"command": "echo done", "env": {"NAME": maker.write.template(scope, when)}}


_PARAMS: dict[str, Callable[[Maker, Scope, str | None], Document]] = {
    "shop.find": _find,
    "write_item": write_params,
    "http": http_params,
    "shell": _shell,
}
