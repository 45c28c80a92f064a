/** Where a key is asked for. It stays in this tab. */
import { useState } from "preact/hooks";
import { toCallError } from "../api/live.ts";
import { type CallError, callApi } from "../api/request.ts";
import { type KeyStatus, signIn, signOutReason } from "../api/session.ts";
import { FieldInput } from "./form.tsx";
import { Problem } from "./problem.tsx";
import { ThemeChoice } from "./theme.tsx";

const KEY_FIELD = {
  name: "key",
  label: "API key",
  as: "secret",
  isRequired: true,
  hint: "This tab stores the key until you close it. An Admin key sees every page.",
} as const;

export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<CallError | null>(null);
  const [isAsking, setAsking] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setAsking(true);
    setProblem(null);
    try {
      const asked = token.trim();
      signIn(
        asked,
        await callApi<KeyStatus>({ method: "GET", path: "/api-key-status" }, undefined, asked),
      );
    } catch (error) {
      setProblem(toCallError(error));
    } finally {
      setAsking(false);
    }
  };
  return (
    <main class="sign-in">
      <img src="/console/icon.svg" alt="" />
      <h1>Sign in</h1>
      <p>The console of your agent payment service.</p>
      {signOutReason.value && (
        <p class="problem" role="alert">
          {signOutReason.value}
        </p>
      )}
      <form onSubmit={submit}>
        <FieldInput field={KEY_FIELD} value={token} onChange={setToken} />
        {problem && <Problem problem={problem} />}
        <div class="buttons">
          <button type="submit" class="main" disabled={isAsking || token.trim() === ""}>
            {isAsking ? "Asking…" : "Sign in"}
          </button>
        </div>
      </form>
      <footer>
        <ThemeChoice />
        <a href="/docs">Documentation</a>
      </footer>
    </main>
  );
}
