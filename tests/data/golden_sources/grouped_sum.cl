#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#define LOCAL_LOAD_float4(p) (*(const __local float4_packed*)(p))
#define LOCAL_STORE_float4(x, p) (*(__local float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#define LOCAL_LOAD_float4(p) vload4(0, p)
#define LOCAL_STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void r_2048_4_128_4(__global float* restrict p0, __global const float* restrict p1) {
  __local float shared6[4];
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float4 s1 = ((float4)(0.0f));
  int a0 = (gx*2048+lx*4);
  for (int r2 = 0; r2 < 128; r2++) {
    int a1 = r2*16;
    float4 v2 = LOAD_float4(p1 + (a0+a1));
    s1 = (s1 + v2);
  }
  float2 v3 = (s1.lo + s1.hi);
  float v4 = (v3.s0 + v3.s1);
  float s5 = v4;
  shared6[lx+0] = s5;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lx == 0) {
    float s7;
    float4 v8 = LOCAL_LOAD_float4(shared6 + 0);
    float2 v9 = (v8.lo + v8.hi);
    float v10 = (v9.s0 + v9.s1);
    s7 = v10;
    p0[gx] = s7;
  }
}
