"""The part of the Amazon States Language that Parley's machine uses: read strictly, compiled once.

Pure: no clock, no database, no threads. Facts are from the Amazon States Language specification
(states-language.net/spec.html) and the Step Functions Developer Guide; each module names its pages.
"""
