__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void E_35_4(__global const char* restrict p0, __global const char* restrict p1, __global char* restrict p2) {
  int gx = get_group_id(0);
  int a0 = gx*4;
  char4 v1 = *((__global const char4*)(p0 + (a0)));
  char4 v2 = *((__global const char4*)(p1 + (a0)));
  char v3 = ((char)((v2.s0 == ((char)(-1))) ? ((char)(0) - v1.s0) : (v1.s0 / ((v2.s0 == ((char)(0))) || (v2.s0 == ((char)(-1))) ? ((char)(1)) : v2.s0))));
  char v4 = ((char)((v2.s0 == ((char)(-1))) ? ((char)(0)) : (v1.s0 % ((v2.s0 == ((char)(0))) || (v2.s0 == ((char)(-1))) ? ((char)(1)) : v2.s0))));
  char v5 = ((char)(v3 + v4));
  char v6 = ((char)((v2.s1 == ((char)(-1))) ? ((char)(0) - v1.s1) : (v1.s1 / ((v2.s1 == ((char)(0))) || (v2.s1 == ((char)(-1))) ? ((char)(1)) : v2.s1))));
  char v7 = ((char)((v2.s1 == ((char)(-1))) ? ((char)(0)) : (v1.s1 % ((v2.s1 == ((char)(0))) || (v2.s1 == ((char)(-1))) ? ((char)(1)) : v2.s1))));
  char v8 = ((char)(v6 + v7));
  char v9 = ((char)((v2.s2 == ((char)(-1))) ? ((char)(0) - v1.s2) : (v1.s2 / ((v2.s2 == ((char)(0))) || (v2.s2 == ((char)(-1))) ? ((char)(1)) : v2.s2))));
  char v10 = ((char)((v2.s2 == ((char)(-1))) ? ((char)(0)) : (v1.s2 % ((v2.s2 == ((char)(0))) || (v2.s2 == ((char)(-1))) ? ((char)(1)) : v2.s2))));
  char v11 = ((char)(v9 + v10));
  char v12 = ((char)((v2.s3 == ((char)(-1))) ? ((char)(0) - v1.s3) : (v1.s3 / ((v2.s3 == ((char)(0))) || (v2.s3 == ((char)(-1))) ? ((char)(1)) : v2.s3))));
  char v13 = ((char)((v2.s3 == ((char)(-1))) ? ((char)(0)) : (v1.s3 % ((v2.s3 == ((char)(0))) || (v2.s3 == ((char)(-1))) ? ((char)(1)) : v2.s3))));
  char v14 = ((char)(v12 + v13));
  *((__global char4*)(p2 + (a0))) = (char4)(v5, v8, v11, v14);
}
