"""The peers of benchmarks/engine.py, run by the Python of their own virtual environment.

usage: python engine_peers.py dbos|huey FOLDER RUNS     prints steps per second
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

STEPS, AT_ONCE, RESULT = 10, 64, "x" * 190


def dbos(folder: str, runs: int) -> float:
    """Workflows of ten steps, 64 of them in threads at once."""
    from dbos import DBOS, DBOSConfig

    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": f"sqlite:///{folder}/dbos.db",
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)

    @DBOS.step()
    def step(number: int) -> dict[str, str]:
        return {"v": RESULT}

    @DBOS.workflow()
    def flow() -> int:
        return sum(len(step(number)) for number in range(STEPS))

    DBOS.launch()
    flow()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = time.perf_counter()
        done = list(pool.map(lambda _: flow(), range(runs)))
        seconds = time.perf_counter() - begun
    assert done == [STEPS] * runs
    DBOS.destroy()
    return runs * STEPS / seconds


def huey(folder: str, runs: int) -> float:
    """Ten tasks one after another (a pipeline), 64 pipelines at once, results stored, every commit synced."""
    from huey import SqliteHuey

    logging.getLogger("huey").setLevel(logging.ERROR)
    app = SqliteHuey("bench", filename=f"{folder}/huey.db", fsync=True)
    ended = threading.Semaphore(AT_ONCE)
    count = [0]
    lock = threading.Lock()

    @app.task()
    def step(before: object = None, number: int = 0) -> str:
        if number == STEPS - 1:
            with lock:
                count[0] += 1
            ended.release()
        return RESULT

    consumer = app.create_consumer(workers=4, initial_delay=0.001, max_delay=0.005)
    consumer.start()
    begun = time.perf_counter()
    for _ in range(runs):
        ended.acquire()
        pipeline = step.s()
        for number in range(1, STEPS):
            pipeline = pipeline.then(step, number=number)
        app.enqueue(pipeline)
    while count[0] < runs:
        time.sleep(0.001)
    seconds = time.perf_counter() - begun
    consumer.stop()
    return runs * STEPS / seconds


if __name__ == "__main__":
    print({"dbos": dbos, "huey": huey}[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
