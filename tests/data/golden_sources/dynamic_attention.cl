#ifdef __clang__
typedef float16 float16_packed __attribute__((aligned(4)));
#define LOAD_float16(p) (*(const __global float16_packed*)(p))
#define STORE_float16(x, p) (*(__global float16_packed*)(p) = (x))
#else
#define LOAD_float16(p) vload16(0, p)
#define STORE_float16(x, p) vstore16(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void r_n0_8_4_2_4_16(__global const float* restrict p0, __global const float* restrict p1, __global float* restrict p2, const int n0) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float16 s1 = ((float16)(0.0f));
  float16 s2 = ((float16)(0.0f));
  float16 s3 = ((float16)(0.0f));
  float16 s4 = ((float16)(0.0f));
  int a0 = (lx*128+ly*64);
  float16 v5 = LOAD_float16(p0 + (a0));
  float16 v6 = LOAD_float16(p0 + (a0+16));
  float16 v7 = LOAD_float16(p0 + (a0+32));
  float16 v8 = LOAD_float16(p0 + (a0+48));
  int a1 = (gx*16+lx*1024);
  float16 v9 = LOAD_float16(p1 + (a1));
  s1 += (v5 * v9);
  s2 += (v6 * v9);
  s3 += (v7 * v9);
  s4 += (v8 * v9);
  float8 v10 = (s1.lo + s1.hi);
  float4 v11 = (v10.lo + v10.hi);
  float2 v12 = (v11.lo + v11.hi);
  float v13 = (v12.s0 + v12.s1);
  float s14 = v13;
  float8 v15 = (s2.lo + s2.hi);
  float4 v16 = (v15.lo + v15.hi);
  float2 v17 = (v16.lo + v16.hi);
  float v18 = (v17.s0 + v17.s1);
  float s19 = v18;
  float8 v20 = (s3.lo + s3.hi);
  float4 v21 = (v20.lo + v20.hi);
  float2 v22 = (v21.lo + v21.hi);
  float v23 = (v22.s0 + v22.s1);
  float s24 = v23;
  float8 v25 = (s4.lo + s4.hi);
  float4 v26 = (v25.lo + v25.hi);
  float2 v27 = (v26.lo + v26.hi);
  float v28 = (v27.s0 + v27.s1);
  float s29 = v28;
  int a2 = (gx+lx*64+lx*n0*8+ly*32+ly*n0*4);
  p2[a2] = s14;
  int a3 = (gx+lx*64+lx*n0*8+ly*32+ly*n0*4+n0);
  p2[a3+8] = s19;
  int a4 = (gx+lx*64+lx*n0*8+ly*32+ly*n0*4+n0*2);
  p2[a4+16] = s24;
  int a5 = (gx+lx*64+lx*n0*8+ly*32+ly*n0*4+n0*3);
  p2[a5+24] = s29;
}
