#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel void r_512_128_512_4(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  int iy = get_global_id(1);
  int ix = get_global_id(0);
  float4 s1 = ((float4)(0.0f));
  int a0 = iy*512;
  int a1 = ix*4;
  for (int r2 = 0; r2 < 512; r2++) {
    float v2 = p1[a0+r2];
    int a2 = r2*512;
    float4 v3 = LOAD_float4(p2 + (a1+a2));
    s1 += (v2 * v3);
  }
  int a3 = (ix*4+iy*512);
  STORE_float4(s1, p0 + (a3));
}
