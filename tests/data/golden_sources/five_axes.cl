__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void E_5_6_7_4_3_3_2(__global const float* restrict p0, __global float* restrict p1) {
  int gz = get_group_id(2);
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*3+gy*14+lx+(gz/42)*840+(gz%7)*42+((gz/7)%6)*210);
  int a1 = (gx*3+lx);
  bool c2 = (a1) >= 1;
  bool c3 = (a1) <= 7;
  bool c4 = (gy) >= 1;
  bool c5 = (gz) >= 42;
  bool c6 = (gz) <= 167;
  int a7 = (gz%7);
  bool c8 = (a7) >= 1;
  bool c9 = (a7) <= 5;
  int a10 = ((gz/7)%6);
  bool c11 = (a10) >= 1;
  bool c12 = (a10) <= 4;
  float v1 = ((c2 & c3 & c4 & c5 & c6 & c8 & c9 & c11 & c12) ? p0[a0-1100] : 0.0f);
  float v2 = (v1 + 1.0f);
  int a13 = (gx*3+gy*18+gz*72+lx);
  p1[a13] = v2;
  bool c14 = (gy) <= 2;
  float v3 = ((c2 & c3 & c14 & c5 & c6 & c8 & c9 & c11 & c12) ? p0[a0-1100+7] : 0.0f);
  float v4 = (v3 + 1.0f);
  p1[a13+9] = v4;
}
