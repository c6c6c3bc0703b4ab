export interface ApiRoute {
  key: string;
  functionName: string;
  /** Of a container instead. */
  registry?: string;
  timeoutMs: number;
}

export interface RouteMatch {
  route: ApiRoute;
  pathParameters: Record<string, string> | undefined;
}

interface CompiledRoute {
  route: ApiRoute;
  method: string;
  pattern: RegExp;
  names: string[];
  /** API Gateway: fewer variables win; `{proxy+}` loses to any variable, ANY to a method. */
  rank: number;
}

export const createRouteFinder = (routes: readonly ApiRoute[]) => {
  const compiled = routes.filter(({ key }) => key !== '$default').map(compileRoute);
  compiled.sort((a, b) => a.rank - b.rank);
  const fallback = routes.find(({ key }) => key === '$default');
  return (method: string, path: string): RouteMatch | undefined => {
    for (const { route, pattern, names, method: wanted } of compiled) {
      const match = wanted === 'ANY' || wanted === method ? pattern.exec(path) : null;
      if (!match) continue;
      const values = names.map((name, index) => [name, decodeStep(match[index + 1] ?? '')]);
      return { route, pathParameters: names.length > 0 ? Object.fromEntries(values) : undefined };
    }
    return fallback && { route: fallback, pathParameters: undefined };
  };
};

const compileRoute = (route: ApiRoute): CompiledRoute => {
  const [method = '', path = ''] = route.key.split(' ');
  const names: string[] = [];
  const segments = path.split('/').map((segment) => {
    const [, name, greedy] = /^\{([^}+]+)(\+)?\}$/.exec(segment) ?? [];
    if (name === undefined) return segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    names.push(name);
    return greedy ? '(.+)' : '([^/]+)';
  });
  const rank = (path.includes('+}') ? 1000 : 0) + names.length * 10 + (method === 'ANY' ? 1 : 0) - path.length / 1000;
  return { route, method, names, rank, pattern: new RegExp(`^${segments.join('/')}$`) };
};

const decodeStep = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
