// The version of this runtime, as it tells others.
export const version = "0.1.0";
