#ifdef __clang__
#define CONVERT(x, kind) __builtin_convertvector(x, kind)
#else
#define CONVERT(x, kind) convert_##kind(x)
#endif
#ifdef __clang__
typedef ushort4 ushort4_packed __attribute__((aligned(2)));
#define LOAD_ushort4(p) (*(const __global ushort4_packed*)(p))
#define STORE_ushort4(x, p) (*(__global ushort4_packed*)(p) = (x))
#else
#define LOAD_ushort4(p) vload4(0, p)
#define STORE_ushort4(x, p) vstore4(x, 0, p)
#endif
static inline ushort4 bf16_bits4(float4 x) {
  uint4 u = as_uint4(x);
  return CONVERT((x != x ? ((u >> 16) | 0x40u) : ((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)), ushort4);
}
__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void E_35_3_4(__global const ushort* restrict p0, __global const ushort* restrict p1, __global ushort* restrict p2) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*12+lx*4);
  float4 v1 = as_float4(CONVERT(LOAD_ushort4(p0 + (a0)), uint4) << 16);
  float4 v2 = as_float4(CONVERT(LOAD_ushort4(p1 + (a0)), uint4) << 16);
  float4 v3 = as_float4(CONVERT(bf16_bits4((v1 - v2)), uint4) << 16);
  float4 v4 = as_float4(CONVERT(bf16_bits4((v3 / v2)), uint4) << 16);
  float4 v5 = as_float4(CONVERT(bf16_bits4(pow(v4, v1)), uint4) << 16);
  float4 v6 = as_float4(CONVERT(bf16_bits4((v5 < ((float4)(0.5f)) | v5 != v5 ? ((float4)(0.5f)) : v5)), uint4) << 16);
  STORE_ushort4(bf16_bits4(v6), p2 + (a0));
}
