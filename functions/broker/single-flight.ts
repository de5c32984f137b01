/** Runs `work` once per key at a time; whoever asks meanwhile shares its outcome. Nothing is kept afterwards. */
export class SingleFlight<Value> {
  readonly #flights = new Map<string, Promise<Value>>();

  isRunning(key: string): boolean {
    return this.#flights.has(key);
  }

  run(key: string, work: () => Promise<Value>): Promise<Value> {
    const running = this.#flights.get(key);
    if (running !== undefined) return running;

    const flight = work().finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }
}
