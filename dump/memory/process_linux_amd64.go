package memory

const sysProcessVMReadv = 310
