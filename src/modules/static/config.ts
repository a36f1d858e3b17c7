import type { ComplexValue } from '../../config/index.ts';

/** One file that `try_files` tests. */
export interface TriedFile {
  readonly name: ComplexValue;
  /** It ended with a slash, which is cut off: only a directory counts. */
  readonly isDirectory: boolean;
  readonly hasVariables: boolean;
}

/** `try_files file ... fallback`. */
export interface TryFilesConfig {
  readonly files: readonly TriedFile[];
  /** A URI or `@name`, or a status. */
  readonly fallback:
    { readonly target: ComplexValue; readonly hasVariables: boolean } | { readonly code: number };
}

/** `disable_symlinks`. */
export interface SymlinksConfig {
  readonly rule: 'off' | 'on' | 'if_not_owner';
  readonly from?: ComplexValue;
}

/** `open_file_cache`. */
export interface OpenFileCacheConfig {
  readonly max: number;
  readonly inactiveMs: number;
}

/** How one location serves files. */
export interface StaticConfig {
  /** By directive: several of one block add up. */
  readonly index: readonly (readonly ComplexValue[])[];
  readonly tryFiles?: TryFilesConfig;
  readonly autoindex: boolean;
  readonly autoindexFormat: 'html' | 'xml' | 'json' | 'jsonp';
  readonly autoindexExactSize: boolean;
  readonly autoindexLocaltime: boolean;
  readonly randomIndex: boolean;
  readonly emptyGif?: true;
  readonly gzipStatic: 'on' | 'off' | 'always';

  readonly etag: boolean;
  readonly ifModifiedSince: 'off' | 'exact' | 'before';
  /** Absent: no limit. */
  readonly maxRanges?: number;
  readonly logNotFound: boolean;

  readonly disableSymlinks: SymlinksConfig;
  readonly openFileCache: OpenFileCacheConfig | 'off';
  readonly openFileCacheValidMs: number;
  readonly openFileCacheMinUses: number;
  readonly openFileCacheErrors: boolean;
}
