/** Stands in the built page for the server's address, which each request names. The name exists nowhere (RFC 2606). */
export const SERVER_ADDRESS = 'http://server.invalid';
