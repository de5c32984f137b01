import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

// A server in a thread of its own, so that it goes on while the sender's thread stands still. It answers every request;
// on a message it also does what `workerData` says to the last connection, and then wakes up the sender's thread.
const { answer, then, done }: { answer: string; then: 'write' | 'end'; done: Int32Array } = workerData;

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', () => socket.write(answer));
  parentPort?.once('message', (text: string) => {
    const wake = () => {
      Atomics.store(done, 0, 1);
      Atomics.notify(done, 0);
    };
    if (then === 'end') socket.end(wake);
    else socket.write(text, wake);
  });
});
server.listen(0, '127.0.0.1', () => parentPort?.postMessage(server.address()));
