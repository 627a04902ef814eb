/** A thread that parses and checks large bodies, one at a time. */
import { serveTasks } from '../../concurrency/serve-tasks.ts';
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

serveTasks(read, { transferOf: buffersOf });
