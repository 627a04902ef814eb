import assert from 'node:assert/strict';
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { AddressRules } from '../../src/webhooks/address-rules.ts';
import { AttemptSender, Connection } from '../../src/webhooks/attempt-sender.ts';
import { HostLookup } from '../../src/webhooks/host-lookup.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const REJECTED = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1'],
  ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1'],
  ...['198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:7f00:1'],
  ...[
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '::ffff:0:7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
  ],
  ...['fc00::1', 'fd12:3456::1', 'fe80::1', 'fe80::1%lo', 'fec0::1', 'ff02::1', '5f00::1', 'localhost', ''],
];
const PUBLIC = [
  '1.1.1.1',
  '100.63.0.1',
  '172.32.0.1',
  '8.8.8.8',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '2606:4700::1111',
];

describe('the addresses of webhooks', () => {
  test('addresses that are not public are rejected, with and without encryption', () => {
    const rules = new AddressRules(null);
    for (const address of REJECTED)
      for (const isEncrypted of [false, true])
        assert.equal(rules.accepts(address, isEncrypted), false, address);
    for (const address of PUBLIC) {
      assert.equal(rules.accepts(address, true), true, address);
      assert.equal(rules.accepts(address, false), false, `${address} without encryption`);
    }
  });

  test('networks of ROLLCALL_WEBHOOKS_ALLOW are accepted without encryption too, in each way to write them', () => {
    const rules = new AddressRules('10.1.0.0/16,127.0.0.1,fd00::/8');
    for (const address of ['10.1.2.3', '127.0.0.1', '::ffff:10.1.0.1', 'fd00::1'])
      for (const isEncrypted of [false, true])
        assert.equal(rules.accepts(address, isEncrypted), true, address);
    for (const address of ['10.2.0.1', '127.0.0.2', 'fc00::1', '::1'])
      assert.equal(rules.accepts(address, true), false, address);
  });
});

describe('the address that a webhook is connected to', () => {
  const { lookup } = dns;
  afterEach(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });

  /** The name server's answers, one for each lookup of the name. */
  function answering(...answers: readonly string[][]): void {
    const left = [...answers];
    const answer = async () => (left.shift() ?? []).map((address) => ({ address, family: isIP(address) }));
    dns.lookup = answer as unknown as typeof lookup;
    syncBuiltinESMExports();
  }

  const attempt = async (port: number, connection: Connection, allow = '127.0.0.1') => {
    const sender = new AttemptSender(systemClock, new HostLookup(new AddressRules(allow)));
    const sending = {
      ...{ project: 1, url: `http://receiver.test:${port}/`, id: 'msg_1', body: '{}', isRepeat: false },
      ...{ secret: 'whsec_AAAA', previousSecret: null, previousValidUntil: null },
    };
    const outcome = await sender.send(sending, connection, new AbortController().signal);
    return outcome?.attempt ?? assert.fail('an attempt');
  };

  test('a name whose address changes between attempts is rejected by the attempt that would connect there', async (context) => {
    const receiver = await WebhookReceiver.open();
    context.after(() => receiver.close());
    answering(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2', '127.0.0.1'], []);
    const errors: (string | null)[] = [];
    for (let count = 0; count < 4; count += 1) {
      using connection = new Connection();
      errors.push((await attempt(receiver.port, connection)).error);
    }
    const rejected = 'the address of the host is not public';
    assert.deepEqual(errors, [null, rejected, null, rejected]);
    assert.equal(receiver.received.length, 2);
  });

  test('a host with several addresses is connected to at the first accepted one that can be reached', async (context) => {
    const receiver = await WebhookReceiver.open();
    context.after(() => receiver.close());
    answering(['10.0.0.1', '::1', '127.0.0.2', 'fd00::1', '127.0.0.1']);
    using connection = new Connection();
    const { status, error } = await attempt(receiver.port, connection, '127.0.0.0/8,::1');
    assert.deepEqual([status, error], [204, null]);
  });

  test('an address in the URL itself is rejected without a connection', async () => {
    using connection = new Connection();
    const sender = new AttemptSender(systemClock, new HostLookup(new AddressRules(null)));
    for (const host of [
      '127.0.0.1',
      '[::1]',
      '2130706433',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      '169.254.169.254',
    ]) {
      const sending = {
        ...{ project: 1, url: `https://${host}:1/`, id: 'msg_1', body: '{}', isRepeat: false },
        ...{ secret: 'whsec_AAAA', previousSecret: null, previousValidUntil: null },
      };
      const outcome = await sender.send(sending, connection, new AbortController().signal);
      assert.equal(outcome?.attempt.error, 'the address of the host is not public', host);
    }
  });

  test('names of one project without an answer do not delay the deliveries of another project', async (context) => {
    const receiver = await WebhookReceiver.open();
    const ending = new AbortController();
    context.after(() => {
      ending.abort();
      receiver.close();
    });
    const answer = (name: string) =>
      name === 'receiver.test' ? [{ address: '127.0.0.1', family: 4 }] : new Promise(() => {});
    dns.lookup = (async (name: string) => answer(name)) as unknown as typeof lookup;
    syncBuiltinESMExports();
    const sender = new AttemptSender(systemClock, new HostLookup(new AddressRules('127.0.0.1')));
    using connections = new DisposableStack();
    const send = (project: number, host: string) =>
      sender.send(
        {
          ...{ project, url: `http://${host}:${receiver.port}/`, id: 'msg_1', body: '{}', isRepeat: false },
          ...{ secret: 'whsec_AAAA', previousSecret: null, previousValidUntil: null },
        },
        connections.use(new Connection()),
        ending.signal,
      );
    for (let count = 0; count < 10; count += 1) void send(1, `silent-${count}.test`);
    const outcome = await send(2, 'receiver.test');
    assert.deepEqual([outcome?.attempt.status, receiver.received.length], [204, 1]);
  });
});
