import { freePort } from '../harness/ports.ts';
import { obtainRedis } from '../harness/programs.ts';
import { launch, type Launched } from '../harness/launch.ts';

/** A real Redis that forgets everything when it ends. */
export class Store {
  readonly port: number;
  readonly #program: string;
  readonly #dir: string;
  #running: Launched | undefined;

  static async start(dir: string): Promise<Store> {
    const store = new Store(await obtainRedis(), dir, await freePort());
    await store.start();
    return store;
  }

  private constructor(program: string, dir: string, port: number) {
    this.#program = program;
    this.#dir = dir;
    this.port = port;
  }

  async start(): Promise<void> {
    const settings = ['--bind', '127.0.0.1', '--port', String(this.port), '--save', '', '--appendonly', 'no'];
    this.#running = launch(this.#program, [...settings, '--maxmemory', '64mb'], { cwd: this.#dir });
    await this.#running.waitForOutput(/Ready to accept connections/);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#running?.stop(signal);
  }

  /** Freezes and continues the process: `SIGSTOP` and `SIGCONT`. */
  signal(signal: NodeJS.Signals): void {
    if (this.#running) process.kill(this.#running.pid, signal);
  }
}
