/** A thread that parses and checks large bodies, one at a time. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { transferable } from '../../store/worker-threads/transferable.ts';
import { type BodyTask, type FromBodyThread, readLargeBody } from './body-reading.ts';

function read(task: BodyTask): FromBodyThread {
  try {
    return readLargeBody(task);
  } catch (error) {
    return { type: 'failed', error };
  }
}

const buffersOf = (reading: FromBodyThread): ArrayBuffer[] =>
  reading.type === 'read' ? transferable(...Object.values(reading.lists).map(({ bytes }) => bytes)) : [];

function serve(port: MessagePort): void {
  port.on('message', (task: BodyTask) => {
    const reading = read(task);
    port.postMessage(reading, buffersOf(reading));
  });
}

if (parentPort === null) throw new Error('this module runs on a worker thread');
serve(parentPort);
