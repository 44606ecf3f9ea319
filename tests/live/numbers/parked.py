# SPDX-License-Identifier: Apache-2.0
"""Three threads contend for a lock for so many seconds, beside a pool with hardly any work. Tells the
seconds of the waits for the lock."""
import concurrent.futures
import sys
import threading
import time

lock = threading.Lock()
waited = [0.0] * 3


def contends(number, end):
    while time.monotonic() < end:
        begin = time.monotonic()
        with lock:
            waited[number] += time.monotonic() - begin
            time.sleep(0.02)


end = time.monotonic() + float(sys.argv[1])
pool = concurrent.futures.ThreadPoolExecutor(4)
threads = [threading.Thread(target=contends, args=(i, end)) for i in range(3)]
for thread in threads:
    thread.start()
while time.monotonic() < end:
    pool.submit(int)
    time.sleep(0.05)
for thread in threads:
    thread.join()
print(sum(waited))
