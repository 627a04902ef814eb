/** A JSON text. */
export type Json = string;
