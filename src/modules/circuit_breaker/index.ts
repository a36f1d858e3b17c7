import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, directivesFor, readers } from '../../config/index.ts';
import {
  type Build,
  countedAs,
  type CountedLocation,
  countedLocation,
  type LocationParts,
  type ModuleExplanation,
  moduleFor,
  type VariableDefinition,
} from '../../contract/index.ts';
import { upstreamFacts } from '../../forwarding/index.ts';
import { type Exchange, type Getter, logContext, stateKey, refuse } from '../../http/index.ts';
import { openRequestRates, zoneIdentity } from '../../zone/index.ts';
import { type Admission, Circuit, type Outcome, type Ticket } from './circuit.ts';

/** `circuit_breaker_threshold number`, and where it was set. */
interface Threshold {
  readonly failures: number;
  readonly counted: CountedLocation;
}

interface CircuitBreakerConfig {
  readonly threshold?: Threshold;
  readonly timeoutMs?: number;
  readonly successes?: number;
}

const DEFAULTS = { timeoutMs: 30_000, successes: 2 } as const;

const number = readers.integer({ min: 1, max: 1_000_000 });

const threshold: ArgReader<Threshold> = readers.words(number, (words, scope) => {
  const [word] = words as [Word];
  // The outcomes of a request's tries are kept only where a variable such as `$upstream_status` needs them.
  scope.complexValue({ ...word, value: '$upstream_status', literals: [] });
  const failures = number.read(words, scope);
  return failures === undefined ? undefined : { failures, counted: countedLocation(scope) };
});

/** Reads a time; a number without a unit counts milliseconds, as in nginz. */
const timeout: ArgReader<number> = readers.oneWord('time', ({ value, span }, { report, directive }) => {
  const timeoutMs = readers.parseTimeMs(/^\d+$/.test(value) ? `${value}ms` : value) ?? 0;
  if (timeoutMs > 0) return timeoutMs;
  report.emerg(`"${directive}" directive invalid value`, span, 'expected a time such as 30s or 500ms');
  return undefined;
});

const CONTEXTS = ['location'] as const;

const directives = directivesFor<CircuitBreakerConfig>()({
  circuit_breaker_threshold: {
    contexts: CONTEXTS,
    args: threshold,
    into: 'threshold',
    summary:
      'Number of failed requests in a row after which the circuit opens: further requests get 503 at once. A request has failed if the upstream responded with a status from 500 on or not at all; without an upstream, if the response has such a status. Other responses without an upstream, such as a 413 or one from the cache, do not count. Nested locations without a threshold of their own share the circuit.',
    source: 'nginz circuit-breaker#circuit_breaker_threshold',
  },
  circuit_breaker_timeout: {
    contexts: CONTEXTS,
    args: timeout,
    into: 'timeoutMs',
    defaultText: '30s',
    summary:
      'Time after which an open circuit becomes half open: one request at a time is let through as a trial. A number without a unit counts milliseconds.',
    source: 'nginz circuit-breaker#circuit_breaker_timeout',
  },
  circuit_breaker_success_threshold: {
    contexts: CONTEXTS,
    args: number,
    into: 'successes',
    defaultText: '2',
    summary:
      'Number of successful trials in a row after which the circuit closes. A trial that fails opens it again.',
    source: 'nginz circuit-breaker#circuit_breaker_success_threshold',
  },
});

/** Declared by every location with a threshold; each circuit takes 128 bytes. */
const ZONE = { name: 'gw circuits', kind: 'request limit', sizeBytes: 1_048_576, key: 'circuits' } as const;
const STATUS = 503;

/** The functions that record the outcome of a request in the circuits that admitted it, and the last decision. */
interface Passage {
  readonly passed: Map<string, () => void>;
  admission: Admission;
}

const PASSAGE = stateKey<Passage>('circuit breaker');

/** Returns how a request ended. `round`: the index of the first upstream that this location passed it to. */
function outcomeOf(x: Exchange, round: number): Outcome {
  const tries = upstreamFacts(x)?.rounds[round];
  const upstreamStatus = tries?.at(-1)?.status ?? 0;
  const status = upstreamStatus > 0 ? upstreamStatus : x.status;
  if (status === 499 || status === 0) return 'unknown';
  if (status >= 500 && status < 600) return 'failure';
  // A body that is too large, a refusal or a stored response says nothing about the upstream.
  const isOwn = upstreamStatus === 0 && (tries !== undefined || x.inErrorPage || status >= 400);
  return isOwn ? 'unknown' : 'success';
}

type Circuits = (build: Build) => { readonly circuit: Circuit; readonly key: string } | undefined;

/** Asks the circuit, and records the outcome when the response head is known or the request ends without one. */
function compileParts(
  { circuit, key }: NonNullable<ReturnType<Circuits>>,
  { log, location }: Build,
): Pick<LocationParts, 'precontent' | 'filter'> {
  const level = { open: 'warn', closed: 'notice' } as const;
  const settling = (x: Exchange, ticket: Ticket): (() => void) => {
    const round = upstreamFacts(x)?.rounds.length ?? 0;
    let isSettled = false;
    return () => {
      if (isSettled) return;
      isSettled = true;
      circuit.settle(ticket, outcomeOf(x, round), (state) =>
        log.write(level[state], `the circuit of location "${location.path}" is ${state}`, logContext(x)),
      );
    };
  };
  return {
    precontent(x) {
      if (x.main !== x) return undefined;
      const passage: Passage = x.state(PASSAGE) ?? { passed: new Map(), admission: 'allow' };
      if (passage.passed.has(key)) return undefined;
      x.setState(PASSAGE, passage);
      const ticket = circuit.admit();
      passage.admission = typeof ticket === 'string' ? ticket : 'allow';
      if (typeof ticket === 'string') {
        if (ticket === 'busy') log.write('error', 'the memory of the circuits is busy', logContext(x));
        return refuse(x, STATUS, 'circuit_breaker');
      }
      const settle = settling(x, ticket);
      passage.passed.set(key, settle);
      x.onEnd(settle);
      return undefined;
    },
    filter(x) {
      if (x.main === x) x.state(PASSAGE)?.passed.get(key)?.();
    },
  };
}

const explanation: ModuleExplanation<CircuitBreakerConfig, Circuits> = {
  runs: true,
  explain: ({ threshold: own, timeoutMs = DEFAULTS.timeoutMs }) => ({
    precontent: () => ({
      does: `responds with ${STATUS} while its circuit is open: for ${timeoutMs / 1000} s after ${own?.failures ?? 0} failures in a row`,
      unknown: 'the state of the circuit',
    }),
  }),
};

const STATE = 'The state of the circuit of the location: `closed`, `open` or `half_open`.';
const readAdmission: Getter = ({ main }) => main.state(PASSAGE)?.admission;
const withoutCircuit: VariableDefinition = { summary: STATE, compile: () => () => undefined };

/** Locations that stop passing requests to an upstream which fails (nginz's circuit-breaker module). */
export const circuitBreaker = moduleFor<CircuitBreakerConfig>()<Circuits>({
  name: 'circuit_breaker',
  summary: 'Refuses requests for a while after an upstream has failed.',
  directives,
  variables: {
    ngz_circuit_state: withoutCircuit,
    ngz_circuit_admission: {
      summary: '`allow`, or why not: `open`, `half_open_busy` (during a trial), `busy` (its memory).',
      live: true,
      compile: () => readAdmission,
    },
  },
  enabled: (config) => Object.values(config).some((part) => part !== undefined),
  validate({ threshold: own, timeoutMs, successes }, report) {
    if (own) return;
    const predicate = 'requires "circuit_breaker_threshold"';
    if (timeoutMs !== undefined) report.on('timeoutMs', predicate);
    if (successes !== undefined) report.on('successes', predicate);
  },
  zones: ({ threshold: own }) => (own ? [{ zone: ZONE, field: 'threshold' }] : []),
  provision: (config, worker) => {
    const buffer = worker.zone(ZONE.name);
    const rates = worker.share(
      `circuits ${zoneIdentity(buffer)}`,
      () => openRequestRates(buffer, worker.workerId),
      () => undefined,
    );
    return ({ serverNames }) => {
      const { threshold: own } = config;
      if (!own) return undefined;
      const key = countedAs(own.counted, serverNames);
      const { timeoutMs = DEFAULTS.timeoutMs, successes = DEFAULTS.successes } = config;
      return { key, circuit: new Circuit(rates, { key, failures: own.failures, timeoutMs, successes }) };
    };
  },
  defines: (_config, circuits) => ({
    ngz_circuit_state: {
      summary: STATE,
      live: true,
      compile: (build) => {
        const found = circuits(build);
        return () => found?.circuit.state;
      },
    },
  }),
  compile: (_config, circuits, build) => {
    const found = circuits(build);
    return found ? compileParts(found, build) : {};
  },
  explanation,
});
