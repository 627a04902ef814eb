/**
 * Names one membership among all that a user ever has in a group: a user who leaves and becomes a member again has another
 * one, but for a chance of one in 2^31. Ephemeral presence belongs to the incarnation for which it was set. A whole number
 * from 0 to 2^31 - 1.
 */
export type Incarnation = number;
