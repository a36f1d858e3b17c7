import {
  type Diagnostic,
  DiagnosticSeverity,
  DiagnosticTag,
  type PublishDiagnosticsParams,
} from 'vscode-languageserver/node';
import { groupBy } from '../../config/index.ts';
import type { Finding } from '../../pipeline.ts';
import { Checker } from './checker.ts';
import { rangeOf } from './files.ts';
import type { Root } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** Pause without typing before a check starts; longer if the last check took longer. */
const PAUSE_MS = 200;
const MAX_PAUSE_MS = 2_000;

const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  info: DiagnosticSeverity.Information,
} as const;

const NOWHERE = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** The receiver of diagnostics. */
interface Publisher {
  publish(params: PublishDiagnosticsParams): void;
  failed(error: unknown): void;
}

type FindingsByRoot = Map<string, ReadonlyMap<string, readonly Finding[]>>;

/** Checks open documents after each change and sends their findings to the client. */
export class Diagnostics {
  readonly #workspace: Workspace;
  readonly #to: Publisher;
  readonly #checker = new Checker();
  /** The findings of the last check, by root and path. */
  #found: FindingsByRoot = new Map();
  #shown = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  /** Duration of the last check. */
  #lastMs = 0;

  constructor(workspace: Workspace, to: Publisher) {
    this.#workspace = workspace;
    this.#to = to;
  }

  /** To be called after a change: the result of a running check is discarded. */
  changed(): void {
    clearTimeout(this.#timer);
    const pauseMs = Math.min(Math.max(PAUSE_MS, this.#lastMs), MAX_PAUSE_MS);
    this.#timer = setTimeout(() => void this.#check(), pauseMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#checker.stop();
  }

  /** The findings of the last check in a file. */
  in(path: string): readonly Finding[] {
    return merged([...this.#found.values()].flatMap((byPath) => byPath.get(path) ?? []));
  }

  async #check(): Promise<void> {
    if (this.#running) return this.changed();
    this.#running = true;
    const startedMs = performance.now();
    try {
      const found = await this.#findings();
      if (found) this.#show(found);
    } catch (error) {
      this.#to.failed(error);
    } finally {
      this.#lastMs = performance.now() - startedMs;
      this.#running = false;
    }
  }

  /** The findings of all roots; `undefined` if a text has changed meanwhile. */
  async #findings(): Promise<FindingsByRoot | undefined> {
    const { files } = this.#workspace;
    const { generation } = files;
    const opened = new Map(files.opened.map(({ path, source }) => [path, source.text]));
    const found: FindingsByRoot = new Map();
    for (const root of this.#workspace.roots()) {
      const findings = await this.#checker.check({ root, prefix: this.#workspace.prefixOf(root), opened });
      if (files.generation !== generation) return undefined;
      found.set(`${root.kind} ${root.path}`, byPath(findings, root));
    }
    return found;
  }

  #show(found: FindingsByRoot): void {
    this.#found = found;
    const { files } = this.#workspace;
    const paths = new Set([...found.values()].flatMap((findings) => [...findings.keys()]));
    for (const { path } of files.opened) paths.add(path);
    for (const path of this.#shown) if (!paths.has(path)) this.#publish(path, []);
    for (const path of paths) this.#publish(path, this.in(path));
    this.#shown = paths;
  }

  #publish(path: string, findings: readonly Finding[]): void {
    const { files } = this.#workspace;
    const diagnostics = findings.map((finding) => this.#diagnosticOf(finding));
    const version = files.versionOf(path);
    this.#to.publish({ uri: files.uriOf(path), diagnostics, ...(version !== undefined && { version }) });
  }

  #diagnosticOf(finding: Finding): Diagnostic {
    const { span, severity, message, hint, label, rule, slug, related = [] } = finding;
    const said = [
      label === undefined ? message : `${message} (${label})`,
      ...(hint === undefined ? [] : [hint]),
    ];
    return {
      range: span ? rangeOf(span) : NOWHERE,
      severity: SEVERITIES[severity],
      source: 'gw',
      code: rule,
      message: said.join('\n'),
      data: { slug },
      ...(slug === 'ignored-directive' && { tags: [DiagnosticTag.Unnecessary] }),
      ...(slug === 'deprecated' && { tags: [DiagnosticTag.Deprecated] }),
      relatedInformation: related.map((place) => ({
        location: { uri: this.#workspace.files.uriOf(place.span.source.name), range: rangeOf(place.span) },
        message: place.label,
      })),
    };
  }
}

/** Findings by path; those without a place are shown at the start of the main file. */
function byPath(findings: readonly Finding[], root: Root): ReadonlyMap<string, readonly Finding[]> {
  return groupBy(findings, ({ file, span }) => span?.source.name ?? file ?? root.path);
}

/** Findings without repetitions, for files that several configurations include. */
function merged(findings: readonly Finding[]): readonly Finding[] {
  const keyOf = ({ rule, message, span }: Finding): string => `${rule} ${span?.start ?? ''} ${message}`;
  return [...new Map(findings.map((finding) => [keyOf(finding), finding])).values()];
}
