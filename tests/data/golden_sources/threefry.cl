#ifdef __clang__
#define CONVERT(x, kind) __builtin_convertvector(x, kind)
#else
#define CONVERT(x, kind) convert_##kind(x)
#endif
#ifdef __clang__
typedef uint4 uint4_packed __attribute__((aligned(4)));
#define LOAD_uint4(p) (*(const __global uint4_packed*)(p))
#define STORE_uint4(x, p) (*(__global uint4_packed*)(p) = (x))
#else
#define LOAD_uint4(p) vload4(0, p)
#define STORE_uint4(x, p) vstore4(x, 0, p)
#endif
#ifdef __clang__
typedef ulong4 ulong4_packed __attribute__((aligned(8)));
#define LOAD_ulong4(p) (*(const __global ulong4_packed*)(p))
#define STORE_ulong4(x, p) (*(__global ulong4_packed*)(p) = (x))
#else
#define LOAD_ulong4(p) vload4(0, p)
#define STORE_ulong4(x, p) vstore4(x, 0, p)
#endif
static inline ulong threefry2x32(ulong x, ulong key) {
  uint k0 = (uint)key, k1 = (uint)(key >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  uint a = (uint)x + k0, b = (uint)(x >> 32) + k1;
  const uint turns[8] = {13u, 15u, 26u, 6u, 17u, 29u, 16u, 24u};
  const uint keys[3] = {k0, k1, k2};
  for (uint i = 0; i < 5; i++) {
    for (uint j = 0; j < 4; j++) {
      a += b;
      uint turn = turns[(i & 1) * 4 + j];
      b = ((b << turn) | (b >> (32 - turn))) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  return ((ulong)b << 32) | a;
}
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void E2_8_32_4(__global const ulong* restrict p0, __global const ulong* restrict p1, __global uint* restrict p2, __global uint* restrict p3) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*128+lx*4);
  ulong4 v1 = LOAD_ulong4(p0 + (a0));
  ulong v2 = p1[0];
  ulong4 v3 = ((ulong4)(threefry2x32(v1.s0, ((ulong4)(v2)).s0), threefry2x32(v1.s1, ((ulong4)(v2)).s1), threefry2x32(v1.s2, ((ulong4)(v2)).s2), threefry2x32(v1.s3, ((ulong4)(v2)).s3)));
  ulong4 v4 = (v3 & 4294967295UL);
  uint4 v5 = CONVERT(v4, uint4);
  STORE_uint4(v5, p2 + (a0));
  ulong4 v6 = (v3 >> ((ulong4)(32UL)));
  uint4 v7 = CONVERT(v6, uint4);
  STORE_uint4(v7, p3 + (a0));
}
