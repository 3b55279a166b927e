"""Every example does what its comments promise, through the real commands and against a local server."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def words(**inputs: Any) -> list[str]:
    found = []
    for name, value in inputs.items():
        found += ["--input", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return found


def outputs(done: Any, before: str = "") -> Any:
    """The outputs that `run` ends with; ``before`` is what was read of it already."""
    assert done.code == 0, (before, done)
    return json.loads(done.out.partition("outputs:\n")[2])


# --- checking ----------------------------------------------------------------------------------


def test_the_examples_are_clean_and_the_broken_ones_are_not(interlock: Any) -> None:
    good = [path.name for path in interlock.folder.glob("*.workflow.yaml")]
    done = interlock("check", "--strict", *good, "own-blocks")
    assert done.code == 0, done
    assert len(good) >= 16
    done = interlock("check", "--format", "json", "broken")
    assert done.code == 1
    names = [one["name"] for one in done.json["diagnostics"]]
    assert names.count("lock-order-cycle") == 2
    assert set(names) >= {
        "secret-in-log",
        "secret-in-resource-key",
        "nested-wait",
        "unknown-block",
        "unknown-member",
        "unknown-field",
    }


def test_every_example_is_executed_by_a_test_of_this_folder() -> None:
    texts = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    for path in EXAMPLES.rglob("*.workflow.yaml"):
        assert f'"{path.relative_to(EXAMPLES).as_posix()}"' in texts or f'"{path.name}"' in texts, path.name


# --- branches, secrets, claims -----------------------------------------------------------------


def catalog(outside: Any) -> list[str]:
    return words(products_url=f"{outside.url}/products.json", prices_url=f"{outside.url}/prices.json")


def test_two_sources_are_combined(interlock: Any, outside: Any) -> None:
    done = interlock("run", "catalog.workflow.yaml", *catalog(outside))
    assert outputs(done) == {
        "complete": True,
        "items": [
            {"id": "p1", "name": "paper", "price": 4},
            {"id": "p2", "name": "ink", "price": 12},
            {"id": "p3", "name": "quill", "price": None},
        ],
    }
    assert "note skipped" in done.out


def test_a_failed_branch_is_told_of_and_the_rest_goes_on(interlock: Any, outside: Any) -> None:
    outside.fail("GET /prices.json", 500)
    done = interlock("run", "catalog.workflow.yaml", *catalog(outside))
    assert outputs(done) == {"complete": False, "items": []}
    assert "[warning] prices are missing, so products go out without them" in done.out
    assert "combined skipped" in done.out


def test_of_two_runs_that_want_one_image_the_second_skips_it(interlock: Any, outside: Any) -> None:
    gate = outside.hold("POST /images")
    inputs = words(image="cat.png", cms_url=outside.url)
    first = interlock.start("run", "publish-once.workflow.yaml", *inputs, "--secret", "CMS_TOKEN")
    outside.wait_for("POST /images")
    second = interlock("run", "publish-once.workflow.yaml", *inputs, "--secret", "CMS_TOKEN")
    assert outputs(second) == {"published": False}
    gate.open()
    first = interlock.end(first)
    assert outputs(first) == {"published": True}
    # Both processes work on one store: whichever of them ran the block says whose words these are.
    run = second.out.split()[2]
    said = "[info] cat.png is being published by another run"
    assert f" busy {said}" in second.out or f" {run} busy {said}" in first.out, first.out + second.out
    assert len(outside.seen("POST /images")) == 1
    third = interlock("run", "publish-once.workflow.yaml", *inputs, "--secret", "CMS_TOKEN")
    assert outputs(third) == {"published": True}
    fences = [request.json["fence"] for request in outside.seen("POST /images")]
    assert fences[0] < fences[1]
    assert b"cms-token-of-the-demo" not in interlock.stored()


# --- protected writes --------------------------------------------------------------------------


def post_to_ledger(interlock: Any, outside: Any, amount: int = 5) -> str:
    run: str = interlock.dispatch("ledger.workflow.yaml", account="a-1", amount=amount, bank_url=outside.url)
    return run


@pytest.fixture
def in_review(interlock: Any, outside: Any) -> str:
    """A run whose entry was made, and whose answer was lost."""
    outside.drop("POST /entries")
    run = post_to_ledger(interlock, outside)
    interlock.worker()
    shown = interlock.until_status(run, "held_for_review")
    assert shown["reviews"][0]["path"] == "write"
    assert shown["reviews"][0]["reason"]["message"].endswith("without sending a response.")
    assert len(outside.entries) == 1
    return run


def test_a_write_that_may_have_happened_waits_for_a_person_and_keeps_its_lease(
    interlock: Any, outside: Any, in_review: str
) -> None:
    second = post_to_ledger(interlock, outside, 7)
    waiting = interlock.until_status(second, "waiting_for_resource")
    assert waiting["tickets"][0]["holders"] == [in_review]
    assert waiting["tickets"][0]["held_for_review"] is True
    assert "in review" in interlock("leases").out
    # The entry is there: it is not made again.
    assert interlock("review", in_review, "committed", "--result", '{"entry": "e1"}').code == 0
    assert interlock.until_status(in_review, "completed")["outputs"] == {"entry": "e1"}
    assert interlock.until_status(second, "completed")["outputs"] == {"entry": "e2"}
    assert len(outside.entries) == 2


def test_a_write_that_did_not_happen_is_done_again_under_the_same_lease(
    interlock: Any, outside: Any, in_review: str
) -> None:
    outside.entries.clear()
    assert interlock("review", in_review, "not-committed").code == 0
    assert interlock.until_status(in_review, "completed")["outputs"] == {"entry": "e1"}
    first, again = outside.seen("POST /entries")
    assert first.headers["idempotency-key"] == again.headers["idempotency-key"]


def test_a_write_that_is_given_up_fails_the_run_and_frees_the_key(interlock: Any, outside: Any, in_review: str) -> None:
    assert interlock("review", in_review, "abandon").code == 0
    assert interlock.until_status(in_review, "failed")["error"]["code"] == "abandoned"
    assert interlock("leases", "--json").json == []


# --- admission ---------------------------------------------------------------------------------


def test_a_newer_draft_replaces_the_older_one_while_somebody_types(interlock: Any, outside: Any) -> None:
    def draft(text: str) -> str:
        run: str = interlock.dispatch("preview.workflow.yaml", draft="d-1", text=text, render_url=outside.url)
        return run

    gate = outside.hold("POST /render")
    first = draft("on")
    interlock.worker()
    outside.wait_for("POST /render")
    second = draft("one")
    last = draft("one word")
    gate.open()
    assert interlock.until_status(last, "completed")["outputs"] == {"html": "<p>one word</p>"}
    assert interlock.status(first)["status"] == "superseded"
    assert interlock.status(second)["superseded_by"] == last
    rendered = [request.json["text"] for request in outside.seen("POST /render")]
    assert rendered == ["on", "one word"]


def test_of_the_rebuilds_that_wait_only_the_latest_is_done(interlock: Any, outside: Any) -> None:
    def rebuild(revision: int) -> str:
        run: str = interlock.dispatch("reindex.workflow.yaml", index="books", revision=revision, search_url=outside.url)
        return run

    gate = outside.hold("PUT /indexes/books")
    first = rebuild(1)
    interlock.worker()
    outside.wait_for("PUT /indexes/books")
    second, third = rebuild(2), rebuild(3)
    queue = interlock("queue", "--json").json
    assert queue == [{"workflow": "index.rebuild", "active": [first], "waiting": [third]}]
    watched = interlock.start("run", "reindex.workflow.yaml", *words(index="films", revision=9, search_url=outside.url))
    until = f"queued: the slots of index.rebuild are held by {first}; place 2 in line"
    shown = interlock.line_of(watched, until)
    gate.open()
    assert until in shown
    assert outputs(interlock.end(watched), shown) == {"documents": 900}
    assert interlock.until_status(third, "completed")["outputs"] == {"documents": 300}
    assert interlock.status(first)["outputs"] == {"documents": 100}
    assert interlock.status(second)["status"] == "superseded"
    assert interlock.kinds(second)[-1] == "run.superseded"


# --- other runs --------------------------------------------------------------------------------


def test_two_good_answers_of_three_agents_are_enough(interlock: Any, outside: Any) -> None:
    inputs = words(brief_id=7, agents_url=outside.url)
    done = interlock("run", "agents.workflow.yaml", *inputs)
    answers = outputs(done)["answers"]
    assert sorted(answer["summary"] for answer in answers.values()) == [
        "what is known about ink",
        "what is known about paper",
    ]
    again = interlock("dispatch", "agents.workflow.yaml", *inputs, "--json").json
    assert again["created"] is False
    # A planner that asks for more than the budget allows starts nothing at all.
    interlock.change("agents.workflow.yaml", "max_started_workflows: 8", "max_started_workflows: 2")
    done = interlock("run", "agents.workflow.yaml", *words(brief_id=8, agents_url=outside.url))
    assert done.code == 1
    assert "budget-exceeded" in done.out
    assert len(outside.seen("POST /run")) == 3


def test_a_text_comes_back_in_every_language_and_the_translator_is_spared(interlock: Any, outside: Any) -> None:
    gate = outside.hold("POST /translate")
    run = interlock.dispatch("translate.workflow.yaml", text="good day", translator_url=outside.url)
    interlock.worker()
    outside.wait_for("POST /translate", 2)

    def third_waits() -> bool:
        leases = interlock("leases", "--json").json
        return bool(leases) and len(leases[0]["waiters"]) == 1 and len(leases[0]["holders"]) == 2

    interlock.until("the third language waits for the translator", third_waits)
    assert len(outside.seen("POST /translate")) == 2
    gate.open()
    texts = interlock.until_status(run, "completed")["outputs"]["texts"]
    assert texts == [{"language": name, "text": f"good day ({name})"} for name in ("de", "fr", "it")]


def test_the_first_mirror_that_has_the_file_wins(interlock: Any, outside: Any) -> None:
    mirrors = [f"{outside.url}/mirrors/{name}" for name in ("one", "two")]
    done = interlock("run", "mirrors.workflow.yaml", *words(path="a.txt", mirrors=mirrors))
    assert outputs(done) == {"from": mirrors[1], "text": '{"file": "a.txt"}'}
    done = interlock("run", "mirrors.workflow.yaml", *words(path="a.txt", mirrors=mirrors[:1]))
    assert done.code == 1
    assert "404" in done.out


def test_orders_are_imported_once_paid_by_signal_and_shipped(interlock: Any, outside: Any) -> None:
    inputs = words(delivery="d-1", shop_url=outside.url)
    done = interlock("run", "orders.workflow.yaml", "--workflow", "orders.import", *inputs)
    found = outputs(done)
    assert found["started"] == 3
    again = interlock("dispatch", "orders.workflow.yaml", "--workflow", "orders.import", *inputs)
    assert "this key was used before" in again.out
    run = found["runs"][0]
    ship = interlock.dispatch(
        "orders.workflow.yaml", "--workflow", "order.ship", order="d-1-1", payment_run=run, shop_url=outside.url
    )
    interlock.worker()
    waiting = interlock.until_status(ship, "waiting_for_workflows")
    assert waiting["waiting_for"] == [run]
    pay(interlock, run, order="d-1-1", currency="EUR", reference="r-9")
    assert interlock.until_status(ship, "completed")["outputs"] == {"parcel": "parcel-d-1-1"}
    assert len(outside.seen("POST /invoices")) == 3


# --- signals -----------------------------------------------------------------------------------


def pay(interlock: Any, run: str, **payload: Any) -> str:
    done = interlock("signal", run, "payment", "--data", json.dumps(payload), "--id", payload["reference"])
    assert done.code == 0, done
    said: str = done.out
    return said


def test_only_the_payment_of_the_own_order_counts_also_an_early_or_a_repeated_one(interlock: Any, outside: Any) -> None:
    inputs: dict[str, Any] = {"order": "o-1", "amount": 40, "shop_url": outside.url}
    run = interlock.dispatch("payment.workflow.yaml", **inputs)
    assert interlock.dispatch("payment.workflow.yaml", **inputs) == run
    pay(interlock, run, order="o-2", currency="EUR", reference="r-1")
    pay(interlock, run, order="o-1", currency="USD", reference="r-2")
    interlock.worker()
    interlock.until_status(run, "waiting_for_signal")
    pay(interlock, run, order="o-1", currency="EUR", reference="r-3")
    assert interlock.until_status(run, "completed")["outputs"] == {"reference": "r-3"}
    assert len(outside.seen("POST /receipts")) == 1
    early = interlock.dispatch("payment.workflow.yaml", order="o-5", amount=1, shop_url=outside.url)
    pay(interlock, early, order="o-5", currency="EUR", reference="r-5")
    assert "nothing happened" in pay(interlock, early, order="o-5", currency="EUR", reference="r-5")
    assert interlock.until_status(early, "completed")["outputs"] == {"reference": "r-5"}


def test_signals_in_any_order_a_form_and_a_day(interlock: Any, outside: Any) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=3)).isoformat().replace("+00:00", "Z")
    run = interlock.dispatch("onboarding.workflow.yaml", person="Ada", first_day=soon, mail_url=outside.url)
    assert interlock("signal", run, "laptop_ready", "--data", '{"serial": "L-7"}').code == 0
    interlock.worker()
    interlock.until_status(run, "waiting_for_signal")
    assert interlock("signal", run, "contract_signed").code == 0
    assert interlock("signal", run, "input", "--data", '{"desk": "door", "_note": "private"}').code == 0
    assert interlock.until_status(run, "completed")["outputs"] == {"mail": "mail-to-Ada"}
    (mail,) = outside.seen("POST /mails")
    assert mail.json["text"] == "Welcome! Your laptop is L-7, your desk is at the door."


@pytest.mark.parametrize(("answer", "refunds"), [("approve", 1), ("reject", 0)])
def test_money_moves_only_when_a_person_says_so(interlock: Any, outside: Any, answer: str, refunds: int) -> None:
    run = interlock.dispatch("decision.workflow.yaml", order="o-1", amount=9.5, shop_url=outside.url)
    interlock.worker()
    interlock.until_status(run, "waiting_for_signal")
    assert interlock(answer, run, "--data", '{"by": "Ada"}').code == 0
    outcome = "approved" if answer == "approve" else "rejected"
    assert interlock.until_status(run, "completed")["outputs"] == {"outcome": outcome}
    assert len(outside.seen("POST /orders/o-1/refund")) == refunds


def test_a_release_keeps_its_lease_through_an_approval_and_another_worker(interlock: Any, outside: Any) -> None:
    def release(name: str) -> str:
        run: str = interlock.dispatch(
            "release.workflow.yaml", service="web", release=name, deploy_url=outside.url, deploy_key="k3y-of-the-deploy"
        )
        return run

    first = release("v1")
    worker = interlock.worker()
    interlock.until_status(first, "waiting_for_signal")
    interlock.stop(worker)
    second = release("v2")
    worker = interlock.worker()
    waiting = interlock.until_status(second, "waiting_for_resource")
    assert waiting["tickets"][0]["holders"] == [first]
    assert interlock("approve", first).code == 0
    assert interlock.until_status(first, "completed")["outputs"] == {"live": "https://live.example/web-v1"}
    interlock.until_status(second, "waiting_for_signal")
    assert interlock("cancel", second, "--reason", "not today").code == 0
    assert interlock.until_status(second, "cancelled")["inputs"]["deploy_key"] == "***"
    assert len(outside.seen("DELETE /staged/web-v2")) == 1
    done = interlock.stop(worker)
    assert "web v2 was not released" in done.out
    assert b"k3y-of-the-deploy" not in interlock.stored()
    assert "k3y-of-the-deploy" not in interlock("export", second).out
    assert outside.seen("POST /live")[0].headers["authorization"] == "Bearer k3y-of-the-deploy"


# --- time, budgets, ways back --------------------------------------------------------------------


def test_the_nightly_report_is_delivered_once_a_day(interlock: Any, outside: Any) -> None:
    inputs = words(day="monday", api_url=outside.url)
    done = interlock("run", "nightly-report.workflow.yaml", *inputs)
    assert outputs(done) == {"regions": 2}
    assert "queued" not in done.out
    (report,) = outside.seen("PUT /reports/monday")
    assert report.json == {"rows": [{"region": "north", "total": 5}, {"region": "south", "total": 5}]}
    assert "this key was used before" in interlock("dispatch", "nightly-report.workflow.yaml", *inputs).out


def test_a_report_that_cannot_be_delivered_is_taken_back(interlock: Any, outside: Any) -> None:
    outside.fail("POST /deliveries", 503)
    done = interlock("run", "nightly-report.workflow.yaml", *words(day="tuesday", api_url=outside.url))
    assert done.code == 1, done
    assert "upload undone" in done.out
    assert len(outside.seen("DELETE /reports/tuesday")) == 1


def test_a_report_that_takes_too_long_is_told_of_and_taken_back(interlock: Any, outside: Any) -> None:
    interlock.change("nightly-report.workflow.yaml", "deadline: 2h", "deadline: 5s")
    gate = outside.hold("POST /deliveries")
    running = interlock.start("run", "nightly-report.workflow.yaml", *words(day="friday", api_url=outside.url))
    outside.wait_for("POST /deliveries")
    run = interlock("runs", "--json").json[0]["run"]
    interlock.until("the deadline", lambda: (interlock.status(run)["stop"] or {}).get("kind") == "deadline")
    gate.open()
    done = interlock.end(running)
    assert done.code == 1, done
    assert "[error] the report of friday took longer than two hours" in done.out
    assert interlock.status(run)["error"]["code"] == "deadline-exceeded"
    assert len(outside.seen("DELETE /reports/friday")) == 1


def test_polling_ends_when_the_job_is_ready_or_when_the_budget_is_used_up(interlock: Any, outside: Any) -> None:
    done = interlock("run", "poll.workflow.yaml", *words(status_url=f"{outside.url}/jobs/a"))
    assert outputs(done) == {"result": "a is done"}
    assert len(outside.seen("GET /jobs/a")) == 3
    interlock.change("poll.workflow.yaml", "max_transitions: 50", "max_transitions: 3")
    done = interlock("run", "poll.workflow.yaml", *words(status_url=f"{outside.url}/jobs/b"))
    assert done.code == 1
    assert "budget-exceeded" in done.out
    assert len(outside.seen("GET /jobs/b")) == 2


# --- this machine ------------------------------------------------------------------------------


def test_a_folder_is_packed_only_where_shell_and_python_are_allowed(interlock: Any, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "mine" $HOME'
    folder.mkdir()
    (folder / "note.txt").write_text("x" * 5000, "utf-8")
    archive = tmp_path / "notes.tar"
    inputs = words(folder=str(folder), archive=str(archive))
    for allowed in ([], ["--allow", "shell"], ["--allow", "python"]):
        refused = interlock("run", "backup.workflow.yaml", *inputs, *allowed)
        assert refused.code == 2
        assert "not-allowed" in refused.err
    assert not archive.exists()
    done = interlock("run", "backup.workflow.yaml", *inputs, "--allow", "shell", "--allow", "python")
    assert outputs(done) == {"bytes": os.path.getsize(archive)}


def test_blocks_of_ones_own_are_checked_by_their_manifest_and_run(interlock: Any, tmp_path: Path) -> None:
    interlock.folder = interlock.folder / "own-blocks"
    export = interlock("blocks", "export", "--blocks", "shop_blocks")
    assert export.out == (EXAMPLES / "own-blocks/interlock.blocks.json").read_text("utf-8")
    done = interlock(
        "run",
        "parcel.workflow.yaml",
        *words(order="o-1", folder=str(tmp_path)),
        "--blocks",
        "shop_blocks",
    )
    found = outputs(done)
    assert found["gross"] == 1170
    assert Path(found["path"]).read_text("utf-8") == "o-1: 11.70\n"
    assert "the label of o-1 is in" in done.out
    interlock.change("parcel.workflow.yaml", "country: LU", "country: 7")
    done = interlock("check", "parcel.workflow.yaml")
    assert done.code == 1
    assert "block-params" in done.out


# --- deadlock ----------------------------------------------------------------------------------


def test_of_two_runs_that_would_wait_for_each_other_one_is_refused_and_the_other_goes_on(
    interlock: Any, outside: Any
) -> None:
    gates = [outside.hold("GET /shelves/i"), outside.hold("GET /carts/i")]
    runs = [
        interlock.dispatch("broken/deadlock.workflow.yaml", "--workflow", name, item="i", stock_url=outside.url)
        for name in ("stock.move", "stock.count")
    ]
    interlock.worker()
    outside.wait_for("GET /shelves/i")
    outside.wait_for("GET /carts/i")
    for gate in gates:
        gate.open()
    ends = [interlock.until_status(run, "completed", "failed") for run in runs]
    assert sorted(end["status"] for end in ends) == ["completed", "failed"]
    refused, other = sorted(ends, key=lambda end: end["status"], reverse=True)
    assert refused["error"]["code"] == "deadlock"
    story = f'this run ("{refused["run"]}") and "{other["run"]}" wait for each other'
    assert story in refused["error"]["message"]


def test_a_broken_definition_is_refused_before_anything_is_stored(interlock: Any) -> None:
    done = interlock("run", "broken/secrets.workflow.yaml", *words(service="web", token="t-0k3n"))
    assert done.code == 2
    assert "secret-in-resource-key" in done.out
    assert not (interlock.folder / ".interlock").exists()
