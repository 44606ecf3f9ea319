# SPDX-License-Identifier: Apache-2.0
"""Keeps the library of a wheel busy: busy.py NAME, one of the functions below"""
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


def onnxruntime():
    import numpy as np
    import onnx
    import onnxruntime as ort
    f, rnd = onnx.TensorProto.FLOAT, np.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(rnd.random(shape, dtype=np.float32), name)
               for name, shape in (("k", (32, 3, 3, 3)), ("w", (32 * 62 * 62, 64)))]
    nodes = [onnx.helper.make_node("Conv", ["x", "k"], ["c"]),
             onnx.helper.make_node("Relu", ["c"], ["r"]),
             onnx.helper.make_node("Flatten", ["r"], ["f"]),
             onnx.helper.make_node("MatMul", ["f", "w"], ["m"]),
             onnx.helper.make_node("Softmax", ["m"], ["y"])]
    graph = onnx.helper.make_graph(
        nodes, "g", [onnx.helper.make_tensor_value_info("x", f, [8, 3, 64, 64])],
        [onnx.helper.make_tensor_value_info("y", f, [8, 64])], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    model.ir_version = 8
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    x = rnd.random((8, 3, 64, 64), dtype=np.float32)
    return lambda: session.run(None, {"x": x})


TEXTS = [" ".join("w%d%s" % (i * 7919 % 1013, "ing" * (i % 3)) for i in range(j, j + 200))
         for j in range(500)]


def tokenizers():
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=2000, show_progress=False)
    t.train_from_iterator(TEXTS, trainer)
    return lambda: t.encode_batch(TEXTS)


def pyarrow():
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    t = pa.table({"k": [i * 7919 % 1009 for i in range(200000)],
                  "s": ["v%d" % (i * 31 % 5003) for i in range(200000)]})

    def work():
        t.group_by("k").aggregate([("s", "count_distinct")])
        pc.sort_indices(t, sort_keys=[("s", "ascending")])
        pc.replace_substring_regex(t["s"], "1+", "x")
        out = pa.BufferOutputStream()
        pq.write_table(t, out, compression="zstd")
        pq.read_table(pa.BufferReader(out.getvalue()))
    return work


def opencv():
    import cv2
    import numpy as np
    cv2.setNumThreads(1)
    image = np.random.default_rng(1).integers(0, 255, (600, 800, 3), dtype=np.uint8)
    return lambda: (cv2.GaussianBlur(image, (9, 9), 2), cv2.Canny(image, 50, 150),
                    cv2.resize(image, (1333, 1000), interpolation=cv2.INTER_CUBIC),
                    cv2.imencode(".jpg", image), cv2.dft(np.float32(image[:, :, 0])))


def sklearn():
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.svm import SVC
    x = np.random.default_rng(1).random((4000, 12))
    y = x[:, 0] * 2 + np.sin(x[:, 1] * 9)
    return lambda: (HistGradientBoostingRegressor(max_iter=20).fit(x, y),
                    RandomForestRegressor(5).fit(x, y), SVC().fit(x[:1000], y[:1000] > 1))


def xgboost():
    import numpy as np
    import xgboost as xgb
    x = np.random.default_rng(1).random((20000, 20))
    d = xgb.DMatrix(x, x[:, 0] * 2 + np.sin(x[:, 1] * 9))
    return lambda: xgb.train({"nthread": 1}, d, 10).predict(d)


def faiss():
    import faiss as f
    import numpy as np
    f.omp_set_num_threads(1)
    x = np.random.default_rng(1).random((5000, 64), dtype=np.float32)

    def work():
        index = f.index_factory(64, "IVF64,PQ8")
        index.train(x)
        index.add(x)
        index.search(x[:500], 10)
    return work


def wasmtime():
    import wasmtime as w
    store = w.Store()
    text = """(module
      (func $leaf (param i32) (result i32) (local i32)
        (loop (local.set 1 (i32.add (i32.mul (local.get 1) (i32.const 31)) (local.get 0)))
          (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get 1))
      (func $middle (param i32) (result i32)
        (i32.add (call $leaf (local.get 0)) (i32.const 1)))
      (func (export "top") (param i32) (result i32)
        (i32.add (call $middle (local.get 0)) (i32.const 2))))"""
    top = w.Instance(store, w.Module(store.engine, text), []).exports(store)["top"]
    return lambda: top(store, 10000000)


def mini_racer():
    from py_mini_racer import MiniRacer
    c = MiniRacer()
    c.eval("function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i % 97); "
           "return s } function middle(n) { return leaf(n) + 1 } "
           "function top(n) { return middle(n) + 2 }")
    return lambda: c.call("top", 3000000)


def pillow():
    import io
    from PIL import Image, ImageFilter
    image = Image.effect_noise((800, 600), 60).convert("RGB")

    def work():
        for form in ("PNG", "JPEG", "WEBP"):
            out = io.BytesIO()
            image.save(out, form)
            Image.open(io.BytesIO(out.getvalue())).load()
        image.filter(ImageFilter.GaussianBlur(4)).resize((333, 222), Image.LANCZOS)
    return work


def cryptography():
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    key, f, data = ec.generate_private_key(ec.SECP256R1()), Fernet(Fernet.generate_key()), b"x" * 100000
    return lambda: (key.sign(data, ec.ECDSA(hashes.SHA256())), f.decrypt(f.encrypt(data)))


def jax():
    import jax as j
    import jax.numpy as jnp

    @j.jit
    def step(x):
        return jnp.tanh(x @ x.T) @ x + jnp.sort(x, axis=1)
    x = jnp.ones((300, 300)) / 300
    return lambda: step(x).block_until_ready()


def numexpr():
    import numexpr as ne
    import numpy as np
    ne.set_num_threads(1)
    a, b = np.random.rand(1000000), np.random.rand(1000000)
    return lambda: ne.evaluate("sin(a) * exp(b) + a ** 3 / (b + 1)", {"a": a, "b": b})


def rapidfuzz():
    from rapidfuzz import fuzz, process
    names = [t[:40] for t in TEXTS]
    return lambda: process.cdist(names[:200], names[:200], scorer=fuzz.WRatio)


def openvino():
    import numpy as np
    import openvino as ov
    from openvino import opset13 as op
    rnd = np.random.default_rng(1)
    x = op.parameter([8, 3, 64, 64], np.float32)
    c = op.relu(op.convolution(x, op.constant(rnd.random((32, 3, 3, 3), dtype=np.float32)),
                               [1, 1], [0, 0], [0, 0], [1, 1]))
    f = op.reshape(c, op.constant(np.array([8, -1])), False)
    m = op.matmul(f, op.constant(rnd.random((32 * 62 * 62, 64), dtype=np.float32)), False, False)
    model = ov.compile_model(ov.Model([op.softmax(m, 1)], [x]), "CPU", {"INFERENCE_NUM_THREADS": 1})
    data = rnd.random((8, 3, 64, 64), dtype=np.float32)
    return lambda: model(data)


def hyperscan():
    import hyperscan as hs
    database = hs.Database()
    patterns = [b"w%d[a-z]+ w" % i for i in range(300)] + [rb"(\w+)ing w[0-9]*7\b", b"w1.*w2.*w3"]
    database.compile(expressions=patterns, ids=list(range(len(patterns))),
                     flags=[hs.HS_FLAG_DOTALL] * len(patterns))
    data = " ".join(TEXTS).encode()
    return lambda: database.scan(data, match_event_handler=lambda *unused: None)


def z3():
    import z3 as z

    def work():
        n = 7
        q = [z.Int("q%d" % i) for i in range(n)]
        s = z.Solver()
        s.add([z.And(c >= 0, c < n) for c in q] + [z.Distinct(q)])
        s.add([z.Distinct([q[i] + k * i for i in range(n)]) for k in (1, -1)])
        v = z.BitVec("v", 24)
        s.add(v * v == 0x9c4f1, v * 3 > 7)
        s.set("timeout", 2000)
        s.check()
    return work


def drjit():
    import drjit as dr
    from drjit.llvm import Float, UInt32

    def work():
        i = dr.arange(UInt32, 1000000)
        x = Float(i) / 1000
        dr.eval(dr.sin(x) * dr.exp(-x) + dr.gather(Float, x, (i * 7919) % 1000000))
        dr.sync_thread()
    return work


def quickjs():
    import quickjs as q
    f = q.Function("top", """function leaf(n) { let s = 0; for (let i = 0; i < n; i++)
        s += Math.sqrt(i % 97); return s } function middle(n) { return leaf(n) + 1 }
        function top(n) { return middle(n) + "xaaay".repeat(99).replace(/a+/g, "b").length }""")
    return lambda: f(100000)


work = globals()[sys.argv[1]]()
while True:
    work()
