/** Webhooks of several processes: each is delivered by one of them, and another takes over when that one is killed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import process from 'node:process';
import { test } from 'node:test';
import { startCluster } from '../../../../cluster/start-cluster.ts';
import { expectDone } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { until } from '../support/waiting.ts';
import { ALLOWED, createWebhook, WebhookReceiver, webhook } from '../support/webhook-receiver.ts';
import { createProject, KNOWN, showFailures, skip, withSharedServers } from './cluster-case.ts';

const WEBHOOKS = 12;
/** The contract allows a takeover this time, in milliseconds. */
const TAKEN_OVER_MS = 10_000;

test(
  'webhooks of a killed process are taken over within 10 s with the same content, and others are sent once',
  { skip },
  (context) =>
    withSharedServers(async (servers) => {
      const settings = { ...KNOWN, ROLLCALL_WEBHOOKS_ALLOW: ALLOWED };
      const options = { processes: 2, port: 0, ...servers, settings, onLine: showFailures };
      await using cluster = await startCluster(options);
      const receiver = await WebhookReceiver.open();
      context.after(() => receiver.close());
      const hanging = new Set<ServerResponse>();
      let broken = 0;
      receiver.answer = (response) => {
        hanging.add(response);
        response.once('close', () => {
          if (!response.writableEnded) broken += 1;
          hanging.delete(response);
        });
      };
      const projects: Project[] = [];
      const writers: Project[] = [];
      for (let index = 0; index < WEBHOOKS; index += 1) {
        const [project = assert.fail('a project'), balanced] = await createProject([
          cluster.nodes[index % 2]?.url ?? '',
          cluster.nodes[1]?.url ?? '',
        ]);
        await createWebhook(project, 'w', `${receiver.url}${index}`, { types: ['user.*'] });
        writers.push(project);
        projects.push(balanced ?? project);
        context.after(() => project.close());
        context.after(() => balanced?.close());
      }
      // Either process delivers for any project, so each has its half while the other one is frozen.
      for (const [index, other] of [1, 0].entries()) {
        const frozen = cluster.nodes[other]?.process.pid as number;
        process.kill(frozen, 'SIGSTOP');
        const own = writers.filter((_, number) => number % 2 === index);
        await Promise.all(own.map((project) => project.seedUsers('ada')));
        await receiver.requests((WEBHOOKS / 2) * (index + 1));
        process.kill(frozen, 'SIGCONT');
      }
      await cluster.nodes[0]?.process.end('SIGKILL');
      // What a process that has exited leaves is read before what comes to the receiver later.
      await once(connect(receiver.port, '127.0.0.1').resume().end(), 'close');
      const taken = broken;
      assert.equal(taken, WEBHOOKS / 2, 'the killed process was sending');
      receiver.acknowledge();
      for (const response of hanging) response.writeHead(204).end();
      await until('every acknowledgement', () => receiver.received.length >= WEBHOOKS + taken, TAKEN_OVER_MS);
      await until('nothing waits', async () => {
        for (const project of projects) assert.equal((await webhook(project, 'w')).behind, 0);
        return true;
      });
      const contents = new Set(receiver.received.map(({ path, id, text }) => `${path} ${id} ${text}`));
      assert.equal(contents.size, WEBHOOKS);
      assert.equal(receiver.received.length, WEBHOOKS + taken);
      expectDone(await (projects[0] as Project).delete('/v1/webhooks/w'));
    }),
);
