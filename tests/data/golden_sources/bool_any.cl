#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void r_11_3_20(__global const float* restrict p0, __global uchar* restrict p1) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  bool s1 = false;
  int a0 = (gx*60+lx*20);
  float4 v2 = LOAD_float4(p0 + (a0));
  bool v3 = (v2.s0 != 0.0f);
  s1 = ((bool)(s1 | v3));
  bool v4 = (v2.s1 != 0.0f);
  s1 = ((bool)(s1 | v4));
  bool v5 = (v2.s2 != 0.0f);
  s1 = ((bool)(s1 | v5));
  bool v6 = (v2.s3 != 0.0f);
  s1 = ((bool)(s1 | v6));
  float4 v7 = LOAD_float4(p0 + (a0+4));
  bool v8 = (v7.s0 != 0.0f);
  s1 = ((bool)(s1 | v8));
  bool v9 = (v7.s1 != 0.0f);
  s1 = ((bool)(s1 | v9));
  bool v10 = (v7.s2 != 0.0f);
  s1 = ((bool)(s1 | v10));
  bool v11 = (v7.s3 != 0.0f);
  s1 = ((bool)(s1 | v11));
  float4 v12 = LOAD_float4(p0 + (a0+8));
  bool v13 = (v12.s0 != 0.0f);
  s1 = ((bool)(s1 | v13));
  bool v14 = (v12.s1 != 0.0f);
  s1 = ((bool)(s1 | v14));
  bool v15 = (v12.s2 != 0.0f);
  s1 = ((bool)(s1 | v15));
  bool v16 = (v12.s3 != 0.0f);
  s1 = ((bool)(s1 | v16));
  float4 v17 = LOAD_float4(p0 + (a0+12));
  bool v18 = (v17.s0 != 0.0f);
  s1 = ((bool)(s1 | v18));
  bool v19 = (v17.s1 != 0.0f);
  s1 = ((bool)(s1 | v19));
  bool v20 = (v17.s2 != 0.0f);
  s1 = ((bool)(s1 | v20));
  bool v21 = (v17.s3 != 0.0f);
  s1 = ((bool)(s1 | v21));
  float4 v22 = LOAD_float4(p0 + (a0+16));
  bool v23 = (v22.s0 != 0.0f);
  s1 = ((bool)(s1 | v23));
  bool v24 = (v22.s1 != 0.0f);
  s1 = ((bool)(s1 | v24));
  bool v25 = (v22.s2 != 0.0f);
  s1 = ((bool)(s1 | v25));
  bool v26 = (v22.s3 != 0.0f);
  s1 = ((bool)(s1 | v26));
  int a1 = (gx*3+lx);
  p1[a1] = (uchar)(s1);
}
