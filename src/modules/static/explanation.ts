import type { Build, Deed, Fact, ModuleExplanation } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { StaticConfig, TriedFile } from './config.ts';
import { compileDocumentPath } from './document-path.ts';
import type { DocumentPath } from './document-path.ts';
import { FRESH_FILES, isFault } from './files.ts';
import type { StaticResources } from './resources.ts';

/** Files are looked for on disk as ever; told are the paths that this leads to. */
export const explanation: ModuleExplanation<StaticConfig, StaticResources> = {
  runs: true,
  tell(config, _resources, build) {
    const paths = compileDocumentPath(build);
    const { tryFiles } = config;
    return {
      ...(tryFiles && { precontent: tellTries(tryFiles.files, paths, build) }),
      ...(!config.emptyGif && { content: tellFile(config, paths, build) }),
    };
  },
};

function tellTries(files: readonly TriedFile[], paths: DocumentPath, build: Build): (x: Exchange) => Deed {
  const tries = files.map(({ name, ...rest }) => ({ ...rest, render: build.value(name) }));
  return (x) => {
    const facts: Fact[] = [];
    for (const { render, isDirectory, hasVariables } of tries) {
      const rest = hasVariables ? paths.rest(render(x)) : render(x);
      const found = look(paths.ofRest(x, rest), x);
      const fits = found.kind === (isDirectory ? 'directory' : 'file');
      const wanted = isDirectory ? 'directory' : 'file';
      facts.push({ label: fits ? 'found' : 'tried', value: `${wanted} ${found.text}` });
      if (fits) return { does: 'finds a file', facts };
    }
    return { does: 'finds none of its files: its last word decides', facts };
  };
}

function tellFile({ index }: StaticConfig, paths: DocumentPath, build: Build): (x: Exchange) => Deed {
  const names = index.flat().map((name) => build.value(name));
  return (x) => {
    if (!x.uri.endsWith('/')) {
      const { kind, text } = look(paths.of(x, x.uri), x);
      return { does: DOES[kind ?? ''] ?? 'finds no file', facts: [{ label: 'file', value: text }] };
    }
    const facts: Fact[] = [];
    for (const render of names) {
      const name = render(x);
      const found = look(paths.of(x, x.uri + name), x);
      facts.push({ label: 'index', value: found.text });
      if (found.kind !== undefined) break;
    }
    return { does: 'looks for an index of the directory', facts };
  };
}

const DOES: Readonly<Record<string, string>> = {
  file: 'sends a file',
  directory: 'redirects to the directory with a slash behind',
};

interface Looked {
  readonly kind: string | undefined;
  readonly text: string;
}

function look(path: string | undefined, x: Exchange): Looked {
  if (path === undefined) return { kind: undefined, text: '(outside of the root)' };
  const found = FRESH_FILES.look(path, x);
  if (isFault(found)) return { kind: undefined, text: `${path}  (${reasonOf(found.error)})` };
  const what = found.kind === 'file' ? `${found.sizeBytes} bytes` : found.kind;
  return { kind: found.kind, text: `${path}  (${what})` };
}

function reasonOf({ code }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' || code === 'ENOTDIR' ? 'not there' : (code ?? 'cannot be looked at');
}
