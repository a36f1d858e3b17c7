import { statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Position, Range } from 'vscode-languageserver/node';
import {
  decodeText,
  type DirectiveNode,
  outlineOf,
  type Piece,
  piecesOf,
  readFileBytes,
  type Source,
  type Span,
} from '../../grammar/index.ts';

const documents = new WeakMap<Source, TextDocument>();

/** A span as the protocol counts: lines from 0, columns in UTF-16 units. */
export function rangeOf({ source, start, end }: Span): Range {
  const document = documentOf(source);
  return { start: document.positionAt(start), end: document.positionAt(end) };
}

/** The offset of a position; one beyond the end of its line or of the text is that end. */
export function offsetAt(source: Source, position: Position): number {
  return documentOf(source).offsetAt(position);
}

/** The path of a file, or the URI itself of what is no file: a text that was never saved. */
export function pathOf(uri: string): string {
  return uri.startsWith('file:') ? fileURLToPath(uri) : uri;
}

/** The URI of a path that `pathOf` gave. */
function uriOf(path: string): string {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) ? pathToFileURL(path).href : path;
}

/** Its line index is made once for each text. */
function documentOf(source: Source): TextDocument {
  let document = documents.get(source);
  if (!document) documents.set(source, (document = TextDocument.create('', '', 0, source.text)));
  return document;
}

/** A larger file is not looked into; the check says what it has against it. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** One version of one file. */
export interface TextFile {
  readonly path: string;
  readonly uri: string;
  readonly source: Source;
  /** What the client counts; absent for what is not open. */
  readonly version?: number | undefined;
  /** Its directives as far as they can be made out. */
  readonly nodes: readonly DirectiveNode[];
  readonly pieces: readonly Piece[];
}

/** An open document, as the client names it. */
interface OpenText {
  readonly path: string;
  readonly uri: string;
  readonly version: number;
  readonly text: string;
}

/** The files of configurations: what an editor has open goes before what is on the disk. */
export class Files {
  readonly #knownDirective: (name: string) => boolean;
  readonly #open = new Map<string, TextFile>();
  readonly #saved = new Map<string, { readonly stamp: string; readonly file: TextFile }>();
  /** Grows with every change that was told of. */
  generation = 0;

  constructor(knownDirective: (name: string) => boolean) {
    this.#knownDirective = knownDirective;
  }

  open({ path, uri, version, text }: OpenText): void {
    // A byte order mark that an editor leaves in becomes a blank: every offset stays where it is.
    const source = { name: path, text: text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text };
    this.#open.set(path, new LazyFile({ path, uri, source, version }, this.#knownDirective));
    this.generation++;
  }

  close(path: string): void {
    this.#open.delete(path);
    this.generation++;
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** The open ones, in the order of their opening. */
  get opened(): readonly TextFile[] {
    return [...this.#open.values()];
  }

  /** `undefined` when there is no such file, or when it cannot be read. */
  at(path: string): TextFile | undefined {
    return this.#open.get(path) ?? this.#savedAt(path);
  }

  /** The URI of a path, as the client writes it. */
  uriOf(path: string): string {
    return this.#open.get(path)?.uri ?? uriOf(path);
  }

  /** The version that the client has open, if it has the file open. */
  versionOf(path: string): number | undefined {
    return this.#open.get(path)?.version;
  }

  #savedAt(path: string): TextFile | undefined {
    try {
      const { mtimeMs, size } = statSync(path);
      const stamp = `${mtimeMs} ${size}`;
      const known = this.#saved.get(path);
      if (known?.stamp === stamp) return known.file;
      const { text } = decodeText(readFileBytes(path, MAX_FILE_BYTES));
      const file = new LazyFile(
        { path, uri: uriOf(path), source: { name: path, text } },
        this.#knownDirective,
      );
      this.#saved.set(path, { stamp, file });
      return file;
    } catch {
      return undefined;
    }
  }
}

class LazyFile implements TextFile {
  readonly path: string;
  readonly uri: string;
  readonly source: Source;
  readonly version: number | undefined;
  readonly #knownDirective: (name: string) => boolean;
  #nodes: readonly DirectiveNode[] | undefined;
  #pieces: readonly Piece[] | undefined;

  constructor(
    { path, uri, source, version }: Pick<TextFile, 'path' | 'uri' | 'source' | 'version'>,
    knownDirective: (name: string) => boolean,
  ) {
    this.path = path;
    this.uri = uri;
    this.source = source;
    this.version = version;
    this.#knownDirective = knownDirective;
  }

  get nodes(): readonly DirectiveNode[] {
    return (this.#nodes ??= outlineOf(this.source, this.#knownDirective));
  }

  get pieces(): readonly Piece[] {
    return (this.#pieces ??= piecesOf(this.source));
  }
}
