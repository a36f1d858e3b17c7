import { readBuffer } from '../client/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { ProbedGroup } from '../upstream/index.ts';
import type { Counters } from '../zone/index.ts';
import { EventPublisher } from './events.ts';
import { type CheckResult, GroupChecks, type Transition } from './group-checks.ts';
import { ProbeMeter } from './meter.ts';
import type { HealthPlan } from './plan.ts';

/** The part of a worker that the checks of a configuration use. */
interface HealthScope {
  readonly workerId: number;
  /** Number of this load. */
  readonly generation: number;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  zone(name: string): SharedArrayBuffer;
}

/** The active checks of one configuration in one worker. */
export interface Health {
  /** Returns the results of all checks, of all workers. */
  results(): readonly CheckResult[];
}

/** Opens the checks and closes them. */
export class OpenHealth implements Health {
  readonly #groups: readonly GroupChecks[];
  readonly #log: ErrorLog;
  readonly #meter: ProbeMeter;
  readonly #events: EventPublisher;

  /** `find` returns a group by the key of its plan. */
  constructor(
    { checks, events }: HealthPlan,
    find: (key: string) => ProbedGroup | undefined,
    worker: HealthScope,
  ) {
    this.#log = worker.log;
    this.#meter = new ProbeMeter(worker.metrics);
    this.#events = new EventPublisher(events, worker);
    const scope = {
      load: worker.generation,
      buffer: checks.length > 0 ? readBuffer() : Buffer.alloc(0),
      probed: this.#meter.probed.bind(this.#meter),
      changed: this.#changed.bind(this),
    };
    const keys = new Set(checks.map(({ upstream }) => upstream));
    this.#groups = [...keys].flatMap((key) => {
      const group = find(key);
      const own = checks.filter(({ upstream }) => upstream === key);
      return group ? new GroupChecks(group, own, scope) : [];
    });
  }

  results(): readonly CheckResult[] {
    return this.#groups.flatMap((group) => group.results());
  }

  close(): void {
    for (const group of this.#groups) group.close();
  }

  #changed(transition: Transition): void {
    const { plan, peer, healthy, fault, isFirst, flips } = transition;
    const [subject, where] =
      plan.scope === 'peer'
        ? ['peer', `health check "${plan.what}" of peer ${peer} in upstream "${plan.name}"`]
        : [plan.scope, `probe "${plan.what}" of ${plan.scope} "${plan.name}"`];
    if (!healthy) this.#log.write('warn', `${subject} is unhealthy: ${fault ?? 'no response'}, ${where}`);
    else if (!isFirst) this.#log.write('notice', `${subject} is healthy, ${where}`);
    if (isFirst || !flips) return;
    this.#meter.changed(transition);
    this.#events.publish(transition);
  }
}
