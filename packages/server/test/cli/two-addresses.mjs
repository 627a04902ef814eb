/** Loaded before a command: the name `two.test` has two addresses, as `localhost` has on many machines. */
import dns from 'node:dns';

const { lookup } = dns;
const ADDRESSES = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));

dns.lookup = (name, options, callback) =>
  name === 'two.test' ? callback(null, ADDRESSES) : lookup(name, options, callback);
