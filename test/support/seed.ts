import fc from "fast-check";
import { inject } from "vitest";

// Every property draws its inputs from the seed of the run, also one that says nothing of it.
fc.configureGlobal({ seed: inject("effort").seed });
