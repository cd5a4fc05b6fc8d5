// The time of a batch that nobody set.

/** How long running calls may still bring their own result after a cancel. */
export const cancelGraceMsDefault = 50;
