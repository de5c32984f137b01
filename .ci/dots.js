/** Vitest's reporter for logs: prints a dot for each file of tests, or an x if it failed, while the others still run. */
export default class Dots {
  #count = 0;

  onTestModuleEnd(file) {
    this.#count += 1;
    process.stdout.write(`${file.ok() ? '.' : 'x'}${this.#count % 100 === 0 ? '\n' : ''}`);
  }

  onTestRunEnd() {
    process.stdout.write('\n');
  }
}
