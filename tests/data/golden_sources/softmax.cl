#ifdef __clang__
typedef float16 float16_packed __attribute__((aligned(4)));
#define LOAD_float16(p) (*(const __global float16_packed*)(p))
#define STORE_float16(x, p) (*(__global float16_packed*)(p) = (x))
#else
#define LOAD_float16(p) vload16(0, p)
#define STORE_float16(x, p) vstore16(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(8, 16, 1))) void r_8_16_16_16(__global const float* restrict p0, __global float* restrict p1) {
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float16 s1 = ((float16)((-INFINITY)));
  int a0 = lx*16;
  float16 v2 = LOAD_float16(p0 + (a0));
  s1 = (s1 < v2 ? v2 : s1);
  float8 v3 = (s1.lo < s1.hi ? s1.hi : s1.lo);
  float4 v4 = (v3.lo < v3.hi ? v3.hi : v3.lo);
  float2 v5 = (v4.lo < v4.hi ? v4.hi : v4.lo);
  float v6 = (v5.s0 < v5.s1 ? v5.s1 : v5.s0);
  float s7 = v6;
  float s8 = 0.0f;
  float v10 = (s7 * (-1.0f));
  for (int r2 = 0; r2 < 16; r2++) {
    float v9 = p0[a0+r2];
    float v11 = (v9 + v10);
    float v12 = (v11 * 1.4426950216293335f);
    float v13 = exp2(v12);
    s8 = (s8 + v13);
  }
  float16 s14 = ((float16)((-INFINITY)));
  s14 = (s14 < v2 ? v2 : s14);
  float8 v15 = (s14.lo < s14.hi ? s14.hi : s14.lo);
  float4 v16 = (v15.lo < v15.hi ? v15.hi : v15.lo);
  float2 v17 = (v16.lo < v16.hi ? v16.hi : v16.lo);
  float v18 = (v17.s0 < v17.s1 ? v17.s1 : v17.s0);
  float s19 = v18;
  float v20 = (1.0f/s8);
  int a1 = (lx*16+ly);
  float v21 = p0[a1];
  float v22 = (v21 + (s19 * (-1.0f)));
  float v23 = (v22 * 1.4426950216293335f);
  float v24 = exp2(v23);
  float v25 = (v20 * v24);
  p1[a1] = v25;
}
