"""Two blocks of a shop's own: one that only computes, one that acts on the outside."""

from __future__ import annotations

import os
from typing import TypedDict

from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.blocks.registry import block


class Price(TypedDict):
    """Amounts in cents."""

    net: int
    tax: int
    gross: int


class Label(TypedDict):
    path: str


@block("shop.price", effects=False)
async def price(net: int, country: str = "AT") -> Price:
    """Adds the tax of a country to a net price in cents."""
    rate = {"AT": 20, "DE": 19, "LU": 17}.get(country)
    if rate is None:
        raise BlockFailed(f'No tax rate is known for "{country}".', effect="none")
    return {"net": net, "tax": net * rate // 100, "gross": net + net * rate // 100}


@block("shop.label", cost_units=2)
def label(folder: str, order: str, gross: int, context: Context) -> Label:
    """Writes the label of a parcel into a folder."""
    # The key is the same when the block has to run again, so the second label replaces the first.
    path = os.path.join(folder, f"{order}-{context.idempotency_key[:12]}.txt")
    context.begin()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{order}: {gross / 100:.2f}\n")
    context.log(f"the label of {order} is in {path}")
    return {"path": path}
