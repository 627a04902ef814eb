/** The import rules; ARCHITECTURE.md lists them. */
const server = 'packages/server/src';

/** The folders of the drivers. What drivers of a port share is beside them. */
const drivers = 'sqlite|postgres|memory|redis';

/** The folders of the streams, the lowest first. A folder imports the folders before it, types included. */
const streamFolders = [
  ...['events', 'text', 'views', 'channels', 'sessions', 'feed', 'conversation', 'changes'],
];
const streamRules = streamFolders.slice(0, -1).map((folder, index) => ({
  name: `streams-import-downwards-${index}`,
  severity: 'error',
  from: { path: `^${server}/realtime/${folder}` },
  to: { path: `^${server}/realtime/(${streamFolders.slice(index + 1).join('|')})` },
}));

/**
 * The folders of the server in layers, the lowest first. A folder imports folders of the layers before its own, types included.
 * The folders of one layer do not import each other.
 */
const layers = [
  ['values', 'concurrency', 'metrics', 'tracing'],
  ['redis'],
  ['store', 'presence', 'broker'],
  ['core', 'wire'],
  ['config', 'auth', 'webhooks', 'realtime'],
  ['http'],
  ['api-description'],
  ['cli'],
];
const layerRules = layers.flatMap((layer, index) =>
  layer.map((folder) => ({
    name: `folders-import-downwards-${folder}`,
    severity: 'error',
    from: { path: `^${server}/${folder}/` },
    to: {
      path: [
        `^${server}/(${layers.slice(index).flat().join('|')})/`,
        // The files at the top put the folders together. Only the command line calls them.
        ...(folder === 'cli' ? [] : [`^${server}/[a-z-]+\\.ts$`]),
      ],
      pathNot: `^${server}/${folder}/`,
    },
  })),
);

module.exports = {
  forbidden: [
    ...streamRules,
    ...layerRules,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-cycles-of-types',
      comment: 'Sources are layers for readers too.',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { circular: true },
    },
    {
      name: 'protocol-stands-alone',
      comment: 'Server and clients share it.',
      severity: 'error',
      from: { path: '^packages/protocol/src/' },
      to: { pathNot: '^packages/protocol/src/' },
    },
    {
      name: 'client-takes-types-of-the-protocol-only',
      comment: 'It is published by itself; the build expands the types.',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { pathNot: '^packages/client/src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-knows-no-server',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { pathNot: '^packages/(client/src|protocol)/' },
    },
    {
      name: 'react-knows-the-client-only',
      comment: 'The transport is the business of the client.',
      severity: 'error',
      from: { path: '^packages/react/src/' },
      to: { pathNot: '^(packages/(react/src|client/src/index\\.ts$)|node_modules/(@types/)?react/)' },
    },
    {
      name: 'foundations-stand-alone',
      comment: 'Every folder uses them; they do not depend on Rollcall.',
      severity: 'error',
      from: { path: `^${server}/(concurrency|metrics|tracing)/` },
      to: { path: '^packages/', pathNot: `^${server}/$1/` },
    },
    {
      name: 'writes-have-one-seam',
      comment: 'StoreWrites orders and follows up every change; the command line writes beside a server.',
      severity: 'error',
      from: { path: `^${server}/`, pathNot: `^${server}/(core/changes/store-writes|cli/with-store)\\.ts$` },
      to: { path: `^${server}/core/changes/write-context\\.ts$` },
    },
    {
      name: 'opentelemetry-is-loaded-on-demand',
      comment: 'A server without traces loads none of its packages.',
      severity: 'error',
      from: { path: '^packages/', pathNot: `^${server}/tracing/(otel|logged)-[a-z]+\\.ts$` },
      to: { path: '^node_modules/@opentelemetry/' },
    },
    {
      name: 'http-comes-without-fetch',
      comment: 'An import of node:http loads fetch too: values/node-http.ts does not.',
      severity: 'error',
      from: { path: `^${server}/` },
      to: { path: '^(node:)?http$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'drivers-know-only-their-port',
      severity: 'error',
      from: { path: `^${server}/(store|presence|broker)/(${drivers})/` },
      to: {
        path: `^${server}/`,
        // `redis/` is the connection that its two drivers share; `concurrency/` imports no driver.
        pathNot: [
          `^${server}/$1/$2/`,
          `^${server}/$1/(?!(${drivers})/)`,
          `^${server}/values/`,
          `^${server}/redis/`,
          `^${server}/concurrency/`,
          `^${server}/metrics/`,
          `^${server}/tracing/`,
        ],
      },
    },
    {
      name: 'wire-knows-the-protocol-and-the-ports-only',
      comment: 'HTTP and the streams both write with it.',
      severity: 'error',
      from: { path: `^${server}/wire/` },
      to: {
        path: `^${server}/`,
        pathNot: [
          `^${server}/wire/`,
          `^${server}/values/`,
          `^${server}/store/(?!(${drivers})/)`,
          `^${server}/presence/presence-store\\.ts$`,
        ],
      },
    },
    {
      name: 'only-wiring-names-drivers',
      severity: 'error',
      from: {
        path: `^${server}/`,
        pathNot: `^${server}/(wiring\\.ts|redis/|(store|presence|broker)/(${drivers})/)`,
      },
      to: { path: `^${server}/(redis|(store|presence|broker)/(${drivers}))/` },
    },
    {
      name: 'values-stand-alone',
      comment: 'Types that every folder uses.',
      severity: 'error',
      from: { path: `^${server}/values/` },
      to: { pathNot: `^${server}/values/` },
    },
    {
      name: 'sources-import-no-tests',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { path: '/test/' },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'resolvable',
      comment:
        'The launcher of the package starts what the build makes, which a fresh checkout does not have.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^\\.\\./dist/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    // Its paths name the sources of the client, which is built only to be published.
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    // What is built from the sources.
    exclude: { path: '^packages/[a-z]+/dist/' },
    enhancedResolveOptions: {
      conditionNames: ['node', 'import', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
