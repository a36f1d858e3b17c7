import { fileURLToPath } from 'node:url';
import { VERSION } from '../version.ts';
import { BackOff } from './back-off.ts';
import type { BoundSocket } from './bound-sockets.ts';
import { type MasterEnd, MasterProcess, senderOfFault } from './master-process.ts';
import { removePidFile } from './process-files.ts';
import { commandName, nameProcess } from './process-name.ts';
import { failureCode, type Outcome, PROTOCOL, type ToSupervisor } from './protocol.ts';
import { Status } from './status.ts';
import { Leaving } from './upgrade/leaving.ts';
import { ProgramPath } from './upgrade/program.ts';
import { Upgrade } from './upgrade/upgrade.ts';

const ENDING = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;
const OTHERS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
/** Longest text of another process that is printed. */
const MOST_TEXT = 2_000;
const RESTART = { firstMs: 200, maxMs: 5_000, steadyMs: 60_000 };

/** Options of `supervise`. */
export interface SuperviseOptions {
  /** Called each time the gateway begins to serve. */
  readonly onReady?: () => void;
}

/**
 * Runs the master in a child process and restarts it when it dies. This process has no native code, so it survives
 * faults that kill the master: an abort inside uWebSockets.js, lack of memory, an endless loop. Resolves to the exit
 * code for the command line.
 */
export function supervise(args: readonly string[], { onReady }: SuperviseOptions): Promise<number> {
  return new Supervisor(args, onReady).run();
}

class Supervisor {
  readonly #source: string;
  readonly #command = commandName(process.argv[1] ?? 'gw');
  readonly #onReady: (() => void) | undefined;
  readonly #backOff = new BackOff(RESTART);
  readonly #status = new Status(process.pid, VERSION);
  /** Signals for the master that have to wait until it serves, or until an upgrade has ended. */
  readonly #pending = new Set<(typeof OTHERS)[number]>();
  /** The program of the master: this one's, or that of the last upgrade. */
  #program = fileURLToPath(new URL('../master/main.cjs', import.meta.url));
  readonly #programPath = new ProgramPath(process.argv[1] as string, this.#program);
  /** The master that serves or is to serve. */
  #master: MasterProcess | undefined;
  /** Masters that an upgrade has replaced, and that still have requests. */
  readonly #replaced = new Map<MasterProcess, Leaving>();
  #upgrade: Upgrade | undefined;
  /** Resolves when another master has taken the place of this one. */
  #isReplaced!: Promise<void>;
  #replacedNow!: () => void;
  /** Resolves when the upgrade that is under way has ended; never rejects. */
  #upgraded: Promise<void> = Promise.resolve();
  /** Resolves when the outcome of the last upgrade is told; never rejects. */
  #told: Promise<void> = Promise.resolve();
  /** The configuration that served last, as the master packed it. */
  #lastGood: string | undefined;
  #served = false;
  #stopping = false;
  #wake: (() => void) | undefined;

  constructor([source = '']: readonly string[], onReady: (() => void) | undefined) {
    this.#source = source;
    this.#onReady = onReady;
    this.#awaitReplacement();
    nameProcess('supervisor', this.#command);
    for (const signal of ENDING) process.on(signal, () => this.#end(signal));
    for (const signal of OTHERS) process.on(signal, () => this.#forward(signal));
    // Standard error may be a pipe whose reader has ended.
    process.stderr.on('error', () => undefined);
    // Node.js throws uncaught errors if a master writes anything other than messages to the channel.
    process.on('uncaughtException', ({ message }) => {
      this.#tell(message);
      (senderOfFault() ?? this.#upgrade?.next ?? this.#master)?.kill('SIGKILL');
    });
  }

  /**
   * Runs masters until one stops. If the first start fails, the command fails; a gateway that has served once is always
   * restarted.
   */
  async run(): Promise<number> {
    let lastEnd: string | undefined;
    for (;;) {
      const startedMs = performance.now();
      const { code, signal } = await this.#runOnce(lastEnd);
      if (this.#stopping) {
        await Promise.all([...this.#replaced.keys()].map(({ ended }) => ended));
        return code ?? (ENDING.some((ending) => ending === signal) ? 0 : 1);
      }
      if (code === 0 || !this.#served) return code ?? failureCode();
      lastEnd = signal ?? `code ${code}`;
      process.stderr.write(
        `gw: [alert] the master process ended unexpectedly (${lastEnd}), starting it again\n`,
      );
      await this.#pause(this.#backOff.after(performance.now() - startedMs));
      if (this.#stopping) return 0;
    }
  }

  /** Starts a master; resolves when it, or the last one that an upgrade has put in its place, has ended. */
  async #runOnce(lastEnd: string | undefined): Promise<MasterEnd> {
    let master = this.#start(lastEnd === undefined ? {} : { GW_LAST_END: lastEnd });
    this.#master = master;
    for (;;) {
      const end = await Promise.race([master.ended, this.#isReplaced]);
      // Another master may be about to take its place.
      await this.#upgraded;
      if (end !== undefined && this.#master === master) return end;
      master = this.#master;
    }
  }

  #awaitReplacement(): void {
    this.#isReplaced = new Promise((resolve) => {
      this.#replacedNow = resolve;
    });
  }

  #start(more: NodeJS.ProcessEnv, program = this.#programPath.nowOr(this.#program)): MasterProcess {
    const env = {
      // The C library gives many threads their own memory for reuse. With two arenas, 10,000 locations take 8 % less.
      MALLOC_ARENA_MAX: '2',
      ...process.env,
      GW_SUPERVISOR: String(process.pid),
      GW_PROTOCOL: String(PROTOCOL),
      GW_SUPERVISOR_VERSION: VERSION,
      GW_COMMAND: this.#command,
      ...more,
    };
    const master = new MasterProcess(
      { program, source: this.#source, env },
      {
        heard: (...heard) => this.#hear(...heard),
        failed: (message) => this.#tell(message),
      },
    );
    void master.ended.then(() => {
      this.#lastGood = master.candidate ?? this.#lastGood;
      this.#replaced.delete(master);
    });
    return master;
  }

  #tell(trouble: string): void {
    process.stderr.write(`gw: [alert] supervisor: ${oneLine(trouble)}\n`);
  }

  #hear(master: MasterProcess, message: ToSupervisor, socket: BoundSocket | undefined): void {
    if (this.#upgrade) this.#upgrade.hear(master, message, socket);
    else socket?.close();
    if (message.type === 'left') this.#replaced.get(master)?.left();
    if (master !== this.#master) return;
    if (message.type === 'ready') this.#serves(master);
    else if (message.type === 'last') master.tell({ type: 'last', candidate: this.#lastGood });
    else if (message.type === 'outcome')
      this.#status.ended(message, master.keeper.pidFile ?? message.pidFile);
  }

  #serves(master: MasterProcess): void {
    this.#served = true;
    if (master.facts) this.#status.serves(master.facts);
    this.#sendPending();
    this.#onReady?.();
  }

  /** Sends the signals that have waited. */
  #sendPending(): void {
    const signals = [...this.#pending];
    this.#pending.clear();
    for (const signal of signals) this.#forward(signal);
  }

  #forward(signal: (typeof OTHERS)[number]): void {
    const master = this.#master;
    if (!master?.isReady || this.#upgrade) return void this.#pending.add(signal);
    if (signal === 'SIGUSR2') {
      this.#upgraded = this.#upgradeFrom(master).catch(({ message }: Error) => this.#tell(message));
      return;
    }
    master.kill(signal);
    // Rotated logs are those of all masters.
    if (signal === 'SIGUSR1') for (const replaced of this.#replaced.keys()) replaced.kill(signal);
  }

  /** Starts the program that is installed now beside the running master, and puts it in its place if it serves. */
  async #upgradeFrom(running: MasterProcess): Promise<void> {
    const began = String(process.hrtime.bigint());
    const before = running.facts?.version;
    const reason = await this.#tryUpgrade(running);
    const after = this.#master?.facts?.version;
    const text = reason ?? `gw/${before} was upgraded to gw/${after}`;
    const outcome = { kind: 'upgrade', began, isDone: reason === undefined, text } as const;
    const closed = this.#replaced.get(running)?.closed;
    this.#told = this.#told.then(() => this.#tellOutcome(outcome, closed));
    if (reason !== undefined && !this.#stopping) {
      process.stderr.write(`gw: [error] upgrade failed, the running program goes on: ${oneLine(reason)}\n`);
      running.tell({ type: 'upgrade failed', reason });
    }
    this.#sendPending();
  }

  /** Whoever asked for the upgrade may go on with requests that the new program has to get. */
  async #tellOutcome(outcome: Outcome, closed: Promise<void> | undefined): Promise<void> {
    await closed;
    try {
      this.#status.ended(outcome);
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  /** Resolves to the reason of a failure. */
  async #tryUpgrade(running: MasterProcess): Promise<string | undefined> {
    let program: string;
    let next: MasterProcess;
    try {
      program = this.#programPath.now();
      next = this.#start({ GW_UPGRADE_FROM: running.facts?.version ?? '' }, program);
    } catch (error) {
      return (error as Error).message;
    }
    next.leaves = 'files';
    running.leaves = 'all';
    const upgrade = new Upgrade(running, next);
    this.#upgrade = upgrade;
    const reason = await upgrade.outcome;
    this.#upgrade = undefined;
    if (reason === undefined) this.#replace(upgrade, program);
    else await this.#goOn(running, next);
    return reason;
  }

  #replace({ running, next, ports }: Upgrade, program: string): void {
    this.#program = program;
    this.#master = next;
    this.#replacedNow();
    this.#awaitReplacement();
    const killed = (reason: string): void => this.#tellKilled(reason);
    if (running.isReady) this.#replaced.set(running, new Leaving(running, { ports, killed }));
    running.leaves = 'files';
    next.leaves = 'nothing';
    next.keeper.succeed(running.keeper);
    const oldFile = running.facts?.pidFile;
    if (oldFile !== undefined && oldFile !== next.facts?.pidFile) removePidFile(oldFile, process.pid);
    running.tell({ type: 'replaced' });
    if (next.facts) this.#status.serves(next.facts);
  }

  #tellKilled(reason: string): void {
    this.#tell(reason);
    this.#master?.tell({ type: 'killed', reason });
  }

  async #goOn(running: MasterProcess, next: MasterProcess): Promise<void> {
    next.kill('SIGKILL');
    await next.ended;
    running.leaves = 'nothing';
    // If the running master has ended meanwhile, nothing has been removed yet.
    if (!running.isReady) running.keeper.end();
  }

  #end(signal: NodeJS.Signals): void {
    this.#stopping = true;
    this.#upgrade?.cancel('the gateway stops');
    this.#master?.kill(signal);
    for (const replaced of this.#replaced.keys()) replaced.kill(signal);
    this.#wake?.();
  }

  async #pause(delayMs: number): Promise<void> {
    if (delayMs === 0 || this.#stopping) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, delayMs);
    });
  }
}

/** Returns a text of another process made safe for a terminal. */
function oneLine(text: string): string {
  return text.slice(0, MOST_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
}
