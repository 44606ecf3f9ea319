# SPDX-License-Identifier: Apache-2.0
"""Keeps one library of numbers busy: busy.py numpy|scipy|mkl|numba|duckdb|polars|lightgbm"""
import ctypes
import glob
import math
import sys


def numpy():
    import numpy as np
    a, b = np.random.rand(500, 500), np.random.rand(500, 500)
    return lambda: (a @ b, np.sort(a.ravel()))


def scipy():
    import numpy as np
    import scipy.fft
    import scipy.linalg
    import scipy.sparse
    import scipy.sparse.linalg
    import scipy.special
    a = np.random.rand(300, 300)
    s = (scipy.sparse.random(2000, 2000, 0.01) + scipy.sparse.eye(2000) * 10).tocsc()
    return lambda: (scipy.linalg.svd(a), scipy.linalg.lu(a), scipy.fft.fft2(a),
                    scipy.special.gamma(a * 20), scipy.sparse.linalg.splu(s))


def mkl():
    import numpy as np
    library = ctypes.CDLL(glob.glob(sys.prefix + "/lib/libmkl_rt.so.*")[0])
    n = 400
    a, c, x, y = np.random.rand(n, n), np.zeros((n, n)), np.random.rand(100000), np.zeros(100000)
    pivots = np.zeros(n, dtype=np.int32)

    def at(v):
        return v.ctypes.data_as(ctypes.c_void_p)

    def work():
        one = ctypes.c_double(1)
        library.cblas_dgemm(101, 111, 111, n, n, n, one, at(a), n, at(a), n, one, at(c), n)
        library.vdExp(100000, at(x), at(y))
        library.vdSin(100000, at(x), at(y))
        library.LAPACKE_dgetrf(101, n, n, at(a.copy()), n, at(pivots))
    return work


def numba():
    import numba as nb
    import numpy as np

    @nb.njit(inline="never")
    def leaf(x):
        s = 0.0
        for i in range(1000):
            s += math.sin(x + i) * i
        return s

    @nb.njit(inline="never")
    def middle(a):
        t = 0.0
        for i in range(a.size):
            t += leaf(a[i])
        return t

    @nb.njit
    def top(a):
        d = {}
        for i in range(100):
            d[i] = middle(a)
        return d[1] + np.sort(np.random.rand(20000))[0]
    a = np.random.rand(50)
    return lambda: top(a)


def duckdb():
    import duckdb as db
    c = db.connect()
    c.execute("create table t as select range as i, (range * 7919) % 10007 as k, random() as r "
              "from range(500000)")
    return lambda: (c.execute("select k, sum(r) from t group by k order by 2").fetchall(),
                    c.execute("select count(*) from t a join t b on a.i = b.k").fetchall(),
                    c.execute("select regexp_replace(i::varchar, '1+', 'x') from t limit 20000")
                    .fetchall())


def polars():
    import polars as pl
    d = pl.DataFrame({"i": range(300000)}).with_columns((pl.col("i") * 7919 % 10007).alias("k"))
    return lambda: (d.group_by("k").agg(pl.col("i").n_unique()).sort("k"),
                    d.join(d, left_on="i", right_on="k"), d.sort("k"))


def lightgbm():
    import lightgbm as lgb
    import numpy as np
    x = np.random.rand(20000, 20)
    y = x[:, 0] * 2 + np.sin(x[:, 1] * 9)
    return lambda: lgb.train({"verbose": -1}, lgb.Dataset(x, y), 20).predict(x)


work = globals()[sys.argv[1]]()
while True:
    work()
