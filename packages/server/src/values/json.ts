/** A JSON text. It is no part of a larger text, which would be retained with it where it is stored. */
export type Json = string;
