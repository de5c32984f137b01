/** Loaded before a program: lets a minute pass in its process at each SIGUSR2. */
const { now } = Date;
let shiftMs = 0;
Date.now = () => now() + shiftMs;
process.on('SIGUSR2', () => {
  shiftMs += 61_000;
});
