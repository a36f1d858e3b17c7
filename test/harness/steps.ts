import { Session } from 'node:inspector/promises';
import { runInThisContext } from 'node:vm';

/** Beyond this time an act counts as endless; the limit is generous because the machine may be busy. */
const ENDLESS_MS = 60_000;

/** Counts how often the most repeated piece of code of a source file ran, as V8 counts it: loops, calls, branches. */
export class StepCounter {
  readonly #session = new Session();
  readonly #file: RegExp;

  private constructor(file: RegExp) {
    this.#file = file;
  }

  /** `file` matches the path of the source. */
  static async open(file: RegExp): Promise<StepCounter> {
    const counter = new StepCounter(file);
    counter.#session.connect();
    await counter.#session.post('Profiler.enable');
    // V8 throws away all its compiled code for this, so it begins once.
    await counter.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return counter;
  }

  /** Throws when the act does not end. */
  async count(act: () => void): Promise<number> {
    // Taking the counts sets them to zero.
    await this.#session.post('Profiler.takePreciseCoverage');
    runToEnd(act);
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const ours = result.filter(({ url }) => this.#file.test(url));
    if (ours.length === 0) throw new Error(`nothing of ${this.#file} ran`);
    const counts = ours.flatMap(({ functions }) =>
      functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)),
    );
    return Math.max(...counts);
  }

  close(): void {
    this.#session.disconnect();
  }
}

/** Only `node:vm` can end a loop from outside. */
function runToEnd(act: () => void): void {
  const name = 'gwActOfAStepCounter';
  Object.assign(globalThis, { [name]: act });
  runInThisContext(`${name}()`, { timeout: ENDLESS_MS });
}
